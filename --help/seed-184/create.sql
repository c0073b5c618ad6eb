-- r.t184
-- Creates the table if it does not exist.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

CREATE SCHEMA IF NOT EXISTS r;

CREATE TABLE IF NOT EXISTS r.t184 (
    id INT NOT NULL,
    region STRING NOT NULL,
    a STRING,
    b INT,
    c STRING,
    bucket INT,
    begins DATE NOT NULL COMMENT 'Start of the version, inclusive',
    ends DATE COMMENT 'Start of the next version, or time of the delete',
    is_current INT NOT NULL COMMENT 'Whether the version is the open one'
)
USING DELTA
PARTITIONED BY (bucket)
TBLPROPERTIES (
    'delta.enableDeletionVectors' = 'true',
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id", "region"]',
    'scdgen.history' = 'date',
    'scdgen.tracked' = '["a", "b", "c"]'
);
