-- r.t12
-- Creates the table if it does not exist.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

CREATE SCHEMA IF NOT EXISTS r;

CREATE TABLE IF NOT EXISTS r.t12 (
    id INT NOT NULL,
    region STRING NOT NULL,
    a STRING,
    b INT,
    c STRING,
    begins DATE NOT NULL COMMENT 'Start of the version, inclusive',
    ends DATE NOT NULL COMMENT '1 day before the next version',
    is_current INT NOT NULL COMMENT 'Whether the version is the open one'
)
USING DELTA
LOCATION 'data/x/12/table'
TBLPROPERTIES (
    'delta.enableDeletionVectors' = 'true',
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id", "region"]',
    'scdgen.history' = 'date, gap 1 day, open_end 9999-12-31',
    'scdgen.tracked' = '["b"]'
);
