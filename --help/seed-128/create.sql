-- r.t128
-- Creates the table if it does not exist.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

CREATE SCHEMA IF NOT EXISTS r;

CREATE TABLE IF NOT EXISTS r.t128 (
    id INT NOT NULL,
    region STRING NOT NULL,
    a STRING,
    b INT,
    c STRING,
    begins TIMESTAMP NOT NULL COMMENT 'Start of the version, inclusive',
    ends TIMESTAMP NOT NULL COMMENT '1 day before the next version',
    is_current INT NOT NULL COMMENT 'Whether the version is the open one',
    the_row_hash STRING NOT NULL COMMENT 'SHA-256 of the tracked columns',
    is_deleted BOOLEAN NOT NULL COMMENT 'Whether the version is a delete'
)
USING DELTA
-- table.layout: open and closed versions are in separate files, so that a batch can skip those of old versions.
PARTITIONED BY (is_current)
TBLPROPERTIES (
    'delta.enableDeletionVectors' = 'false',
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id", "region"]',
    'scdgen.history' = 'timestamp, gap 1 day, open_end 9999-12-31 23:59:59.999',
    'scdgen.tracked' = '["c"]'
);
