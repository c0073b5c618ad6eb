-- r.t84
-- Creates the table if it does not exist.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

CREATE SCHEMA IF NOT EXISTS r;

CREATE TABLE IF NOT EXISTS r.t84 (
    id INT NOT NULL,
    region STRING NOT NULL,
    a STRING,
    b INT,
    c STRING,
    begins BIGINT NOT NULL COMMENT 'Start of the version, inclusive',
    ends BIGINT COMMENT '1 before the next version',
    is_deleted BOOLEAN NOT NULL COMMENT 'Whether the version is a delete'
)
USING DELTA
CLUSTER BY (id)
TBLPROPERTIES (
    'delta.enableDeletionVectors' = 'false',
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id", "region"]',
    'scdgen.history' = 'bigint, gap 1',
    'scdgen.tracked' = '["a", "b"]'
);
