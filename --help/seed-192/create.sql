-- r.t192: it's \ number 192 -- of */ many
-- Creates the table if it does not exist.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

CREATE SCHEMA IF NOT EXISTS r;

CREATE TABLE IF NOT EXISTS r.t192 (
    id INT NOT NULL,
    region STRING NOT NULL,
    a STRING COMMENT 'the first; \'quoted\'',
    b INT,
    c STRING,
    the_surrogate_key STRING NOT NULL COMMENT 'SHA-256 of the key and the start; one per version',
    begins DATE NOT NULL COMMENT 'Start of the version, inclusive',
    ends DATE COMMENT '1 day before the next version',
    the_row_hash STRING NOT NULL COMMENT 'SHA-256 of the tracked columns',
    the_action STRING NOT NULL COMMENT 'I first version, or first after a delete; U a later one; D closed by a delete'
)
USING DELTA
LOCATION 'data/x/192/table'
COMMENT 'it\'s \\ number 192 -- of */ many'
TBLPROPERTIES (
    'delta.enableDeletionVectors' = 'true',
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id", "region"]',
    'scdgen.history' = 'date, gap 1 day',
    'scdgen.tracked' = '["a", "b"]'
);
