-- r.t2: it's \ number 2 -- of */ many
-- Creates the table if it does not exist.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

CREATE SCHEMA IF NOT EXISTS r;

CREATE TABLE IF NOT EXISTS r.t2 (
    id INT NOT NULL,
    a STRING COMMENT 'the first; \'quoted\'',
    b INT,
    c STRING,
    begins TIMESTAMP NOT NULL COMMENT 'Start of the version, inclusive',
    ends TIMESTAMP COMMENT 'Start of the next version, or time of the delete',
    is_current INT NOT NULL COMMENT 'Whether the version is the open one',
    is_deleted BOOLEAN NOT NULL COMMENT 'Whether the version is a delete'
)
USING DELTA
CLUSTER BY (id)
LOCATION 'data/x/2/table'
COMMENT 'it\'s \\ number 2 -- of */ many'
TBLPROPERTIES (
    'delta.enableDeletionVectors' = 'true',
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id"]',
    'scdgen.history' = 'timestamp',
    'scdgen.tracked' = '["a", "b", "c"]'
);
