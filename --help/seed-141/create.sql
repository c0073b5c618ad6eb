-- r.t141: it's \ number 141 -- of */ many
-- Creates the table if it does not exist.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

CREATE SCHEMA IF NOT EXISTS r;

CREATE TABLE IF NOT EXISTS r.t141 (
    id INT NOT NULL,
    region STRING NOT NULL,
    a STRING COMMENT 'the first; \'quoted\'',
    b INT,
    c STRING,
    begins BIGINT NOT NULL COMMENT 'Start of the version, inclusive',
    ends BIGINT NOT NULL COMMENT 'Start of the next version, or time of the delete'
)
USING DELTA
COMMENT 'it\'s \\ number 141 -- of */ many'
TBLPROPERTIES (
    'delta.enableDeletionVectors' = 'true',
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id", "region"]',
    'scdgen.history' = 'bigint, open_end 9999999999',
    'scdgen.tracked' = '["a"]'
);
