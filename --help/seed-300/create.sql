-- r.t300: it's \ number 300 -- of */ many
-- Creates the table if it does not exist.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

CREATE SCHEMA IF NOT EXISTS r;

CREATE TABLE IF NOT EXISTS r.t300 (
    id INT NOT NULL,
    region STRING NOT NULL,
    a STRING COMMENT 'the first; \'quoted\'',
    b INT,
    c STRING,
    the_surrogate_key STRING NOT NULL COMMENT 'SHA-256 of the key and the start; one per version',
    begins BIGINT NOT NULL COMMENT 'Start of the version, inclusive',
    ends BIGINT NOT NULL COMMENT '1 before the next version',
    is_current BOOLEAN NOT NULL COMMENT 'Whether the version is the open one',
    the_row_hash STRING NOT NULL COMMENT 'SHA-256 of the tracked columns',
    the_action STRING NOT NULL COMMENT 'I first version, or first after a delete; U a later one; D closed by a delete',
    is_deleted BOOLEAN NOT NULL COMMENT 'Whether the version is a delete'
)
USING DELTA
LOCATION 'data/x/300/table'
COMMENT 'it\'s \\ number 300 -- of */ many'
TBLPROPERTIES (
    'delta.enableDeletionVectors' = 'true',
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id", "region"]',
    'scdgen.history' = 'bigint, gap 1, open_end last_run',
    'scdgen.tracked' = '["a", "b", "c"]'
);
