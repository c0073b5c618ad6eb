-- r.t109
-- Creates the table if it does not exist.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

CREATE SCHEMA IF NOT EXISTS r;

CREATE TABLE IF NOT EXISTS r.t109 (
    id INT NOT NULL,
    a STRING,
    b INT,
    c STRING,
    bucket INT,
    begins DATE NOT NULL COMMENT 'Start of the version, inclusive',
    ends DATE NOT NULL COMMENT 'Start of the next version, or time of the delete',
    current_flag STRING NOT NULL COMMENT 'Whether the version is the open one'
)
USING DELTA
PARTITIONED BY (bucket)
TBLPROPERTIES (
    'delta.enableDeletionVectors' = 'true',
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id"]',
    'scdgen.history' = 'date, open_end last_run',
    'scdgen.tracked' = '["b", "c"]'
);
