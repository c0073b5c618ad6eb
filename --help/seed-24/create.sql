-- r.t24: it's \ number 24 -- of */ many
-- Creates the table if it does not exist.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

CREATE SCHEMA IF NOT EXISTS r;

CREATE TABLE IF NOT EXISTS r.t24 (
    id INT NOT NULL,
    region STRING NOT NULL,
    a STRING COMMENT 'the first; \'quoted\'',
    b INT,
    c STRING,
    bucket INT,
    begins BIGINT NOT NULL COMMENT 'Start of the version, inclusive',
    ends BIGINT NOT NULL COMMENT '1 before the next version',
    current_flag STRING NOT NULL COMMENT 'Whether the version is the open one',
    is_deleted BOOLEAN NOT NULL COMMENT 'Whether the version is a delete'
)
USING DELTA
PARTITIONED BY (bucket)
LOCATION 'data/x/24/table'
COMMENT 'it\'s \\ number 24 -- of */ many'
TBLPROPERTIES (
    'delta.enableDeletionVectors' = 'true',
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id", "region"]',
    'scdgen.history' = 'bigint, gap 1, open_end 9999999999',
    'scdgen.tracked' = '["c"]'
);
