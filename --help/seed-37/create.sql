-- r.t37
-- Creates the table if it does not exist.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

CREATE SCHEMA IF NOT EXISTS r;

CREATE TABLE IF NOT EXISTS r.t37 (
    id INT NOT NULL,
    a STRING,
    b INT,
    c STRING,
    begins BIGINT NOT NULL COMMENT 'Start of the version, inclusive',
    ends BIGINT COMMENT '10 before the next version',
    is_current BOOLEAN NOT NULL COMMENT 'Whether the version is the open one',
    the_action STRING NOT NULL COMMENT 'I first version, or first after a delete; U a later one; D closed by a delete'
)
USING DELTA
LOCATION 'data/x/37/table'
TBLPROPERTIES (
    'delta.enableDeletionVectors' = 'true',
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id"]',
    'scdgen.history' = 'bigint, gap 10',
    'scdgen.tracked' = '["a", "b"]'
);
