-- r.t250: it's \ number 250 -- of */ many
-- Creates the table if it does not exist.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

CREATE SCHEMA IF NOT EXISTS r;

CREATE TABLE IF NOT EXISTS r.t250 (
    id INT NOT NULL,
    a STRING COMMENT 'the first; \'quoted\'',
    b INT,
    c STRING,
    the_surrogate_key STRING NOT NULL COMMENT 'SHA-256 of the key and the start; one per version',
    begins DATE NOT NULL COMMENT 'Start of the version, inclusive',
    ends DATE COMMENT '1 day before the next version',
    is_current BOOLEAN NOT NULL COMMENT 'Whether the version is the open one',
    is_deleted BOOLEAN NOT NULL COMMENT 'Whether the version is a delete'
)
USING DELTA
-- table.layout: open and closed versions are in separate files, so that a batch can skip those of old versions.
PARTITIONED BY (is_current)
COMMENT 'it\'s \\ number 250 -- of */ many'
TBLPROPERTIES (
    'delta.enableDeletionVectors' = 'true',
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id"]',
    'scdgen.history' = 'date, gap 1 day',
    'scdgen.tracked' = '["a", "b", "c"]'
);
