-- r.t46
-- Creates the table if it does not exist.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

CREATE SCHEMA IF NOT EXISTS r;

CREATE TABLE IF NOT EXISTS r.t46 (
    id INT NOT NULL,
    a STRING,
    b INT,
    c STRING,
    begins TIMESTAMP NOT NULL COMMENT 'Start of the version, inclusive',
    ends TIMESTAMP COMMENT '1 day before the next version',
    current_flag STRING NOT NULL COMMENT 'Whether the version is the open one',
    the_row_hash STRING NOT NULL COMMENT 'SHA-256 of the tracked columns'
)
USING DELTA
-- table.layout: open and closed versions are in separate files, so that a batch can skip those of old versions.
PARTITIONED BY (current_flag)
TBLPROPERTIES (
    'delta.enableDeletionVectors' = 'true',
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id"]',
    'scdgen.history' = 'timestamp, gap 1 day',
    'scdgen.tracked' = '["b", "c"]'
);
