-- r.t264: it's \ number 264 -- of */ many
-- Creates the table if it does not exist.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

CREATE SCHEMA IF NOT EXISTS r;

CREATE TABLE IF NOT EXISTS r.t264 (
    id INT NOT NULL,
    a STRING COMMENT 'the first; \'quoted\'',
    b INT,
    c STRING,
    begins BIGINT NOT NULL COMMENT 'Start of the version, inclusive',
    ends BIGINT NOT NULL COMMENT '10 before the next version',
    current_flag STRING NOT NULL COMMENT 'Whether the version is the open one'
)
USING DELTA
COMMENT 'it\'s \\ number 264 -- of */ many'
TBLPROPERTIES (
    'delta.enableDeletionVectors' = 'false',
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id"]',
    'scdgen.history' = 'bigint, gap 10, open_end last_run',
    'scdgen.tracked' = '["a", "b", "c"]'
);
