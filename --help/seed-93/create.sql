-- r.t93: it's \ number 93 -- of */ many
-- Creates the table if it does not exist.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

CREATE SCHEMA IF NOT EXISTS r;

CREATE TABLE IF NOT EXISTS r.t93 (
    id INT NOT NULL,
    region STRING NOT NULL,
    a STRING COMMENT 'the first; \'quoted\'',
    b INT,
    c STRING,
    begins DATE NOT NULL COMMENT 'Start of the version, inclusive',
    ends DATE COMMENT '1 day before the next version',
    is_current BOOLEAN NOT NULL COMMENT 'Whether the version is the open one',
    the_row_hash STRING NOT NULL COMMENT 'SHA-256 of the tracked columns',
    the_action STRING NOT NULL COMMENT 'I first version, or first after a delete; U a later one; D closed by a delete',
    is_deleted BOOLEAN NOT NULL COMMENT 'Whether the version is a delete'
)
USING DELTA
-- table.layout: open and closed versions are in separate files, so that a batch can skip those of old versions.
PARTITIONED BY (is_current)
COMMENT 'it\'s \\ number 93 -- of */ many'
TBLPROPERTIES (
    'delta.enableDeletionVectors' = 'true',
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id", "region"]',
    'scdgen.history' = 'date, gap 1 day',
    'scdgen.tracked' = '["a"]'
);
