-- r.t44: it's \ number 44 -- of */ many
-- Creates the table if it does not exist.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

CREATE SCHEMA IF NOT EXISTS r;

CREATE TABLE IF NOT EXISTS r.t44 (
    id INT NOT NULL,
    region STRING NOT NULL,
    a STRING COMMENT 'the first; \'quoted\'',
    b INT,
    c STRING,
    bucket INT,
    begins DATE NOT NULL COMMENT 'Start of the version, inclusive',
    ends DATE COMMENT 'Start of the next version, or time of the delete',
    the_row_hash STRING NOT NULL COMMENT 'SHA-256 of the tracked columns'
)
USING DELTA
PARTITIONED BY (bucket)
LOCATION 'data/x/44/table'
COMMENT 'it\'s \\ number 44 -- of */ many'
TBLPROPERTIES (
    'delta.enableDeletionVectors' = 'false',
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id", "region"]',
    'scdgen.history' = 'date',
    'scdgen.tracked' = '["a"]'
);
