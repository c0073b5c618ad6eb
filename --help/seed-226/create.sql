-- r.t226
-- Creates the table if it does not exist.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

CREATE SCHEMA IF NOT EXISTS r;

CREATE TABLE IF NOT EXISTS r.t226 (
    id INT NOT NULL,
    region STRING NOT NULL,
    a STRING,
    b INT,
    c STRING,
    begins DATE NOT NULL COMMENT 'Start of the version, inclusive',
    ends DATE NOT NULL COMMENT 'Start of the next version, or time of the delete',
    is_current BOOLEAN NOT NULL COMMENT 'Whether the version is the open one',
    is_deleted BOOLEAN NOT NULL COMMENT 'Whether the version is a delete'
)
USING DELTA
LOCATION 'data/x/226/table'
TBLPROPERTIES (
    'delta.enableDeletionVectors' = 'false',
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id", "region"]',
    'scdgen.history' = 'date, open_end 9999-12-31',
    'scdgen.tracked' = '["a", "b", "c"]'
);
