-- r.t68
-- Creates the table if it does not exist.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

CREATE SCHEMA IF NOT EXISTS r;

CREATE TABLE IF NOT EXISTS r.t68 (
    id INT NOT NULL,
    a STRING,
    b INT,
    c STRING,
    bucket INT,
    begins BIGINT NOT NULL COMMENT 'Start of the version, inclusive',
    ends BIGINT NOT NULL COMMENT '1 before the next version',
    is_current BOOLEAN NOT NULL COMMENT 'Whether the version is the open one',
    is_deleted BOOLEAN NOT NULL COMMENT 'Whether the version is a delete'
)
USING DELTA
PARTITIONED BY (bucket)
TBLPROPERTIES (
    'delta.enableDeletionVectors' = 'true',
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id"]',
    'scdgen.history' = 'bigint, gap 1, open_end 9999999999',
    'scdgen.tracked' = '["b", "c"]'
);
