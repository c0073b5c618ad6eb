-- r.t289
-- Creates the table if it does not exist.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

CREATE SCHEMA IF NOT EXISTS r;

CREATE TABLE IF NOT EXISTS r.t289 (
    id INT NOT NULL,
    region STRING NOT NULL,
    a STRING,
    b INT,
    c STRING,
    begins DATE NOT NULL COMMENT 'Start of the version, inclusive',
    ends DATE COMMENT 'Start of the next version, or time of the delete'
)
USING DELTA
CLUSTER BY (id)
TBLPROPERTIES (
    'delta.enableDeletionVectors' = 'true',
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id", "region"]',
    'scdgen.history' = 'date',
    'scdgen.tracked' = '["b", "c"]'
);
