-- r.t134
-- Creates the table if it does not exist.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

CREATE SCHEMA IF NOT EXISTS r;

CREATE TABLE IF NOT EXISTS r.t134 (
    id INT NOT NULL,
    region STRING NOT NULL,
    a STRING,
    b INT,
    c STRING,
    the_surrogate_key STRING NOT NULL COMMENT 'SHA-256 of the key and the start; one per version',
    begins DATE NOT NULL COMMENT 'Start of the version, inclusive',
    ends DATE NOT NULL COMMENT 'Start of the next version, or time of the delete',
    current_flag STRING NOT NULL COMMENT 'Whether the version is the open one'
)
USING DELTA
-- table.layout: open and closed versions are in separate files, so that a batch can skip those of old versions.
PARTITIONED BY (current_flag)
TBLPROPERTIES (
    'delta.enableDeletionVectors' = 'false',
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id", "region"]',
    'scdgen.history' = 'date, open_end 9999-12-31',
    'scdgen.tracked' = '["a", "c"]'
);
