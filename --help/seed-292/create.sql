-- r.t292
-- Creates the table if it does not exist.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

CREATE SCHEMA IF NOT EXISTS r;

CREATE TABLE IF NOT EXISTS r.t292 (
    id INT NOT NULL,
    region STRING NOT NULL,
    a STRING,
    b INT,
    c STRING,
    begins TIMESTAMP NOT NULL COMMENT 'Start of the version, inclusive',
    ends TIMESTAMP COMMENT '1 millisecond before the next version',
    is_current INT NOT NULL COMMENT 'Whether the version is the open one'
)
USING DELTA
CLUSTER BY (id)
LOCATION 'data/x/292/table'
TBLPROPERTIES (
    'delta.enableDeletionVectors' = 'true',
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id", "region"]',
    'scdgen.history' = 'timestamp, gap 1 millisecond',
    'scdgen.tracked' = '["a", "b", "c"]'
);
