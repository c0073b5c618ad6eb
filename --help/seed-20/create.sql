-- r.t20
-- Creates the table if it does not exist.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

CREATE SCHEMA IF NOT EXISTS r;

CREATE TABLE IF NOT EXISTS r.t20 (
    id INT NOT NULL,
    a STRING,
    b INT,
    c STRING,
    the_surrogate_key STRING NOT NULL COMMENT 'SHA-256 of the key and the start; one per version',
    begins BIGINT NOT NULL COMMENT 'Start of the version, inclusive',
    ends BIGINT COMMENT '10 before the next version',
    is_current INT NOT NULL COMMENT 'Whether the version is the open one'
)
USING DELTA
-- table.layout: open and closed versions are in separate files, so that a batch can skip those of old versions.
PARTITIONED BY (is_current)
TBLPROPERTIES (
    'delta.enableDeletionVectors' = 'false',
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id"]',
    'scdgen.history' = 'bigint, gap 10',
    'scdgen.tracked' = '["a", "c"]'
);
