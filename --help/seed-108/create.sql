-- r.t108
-- Creates the table if it does not exist.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

CREATE SCHEMA IF NOT EXISTS r;

CREATE TABLE IF NOT EXISTS r.t108 (
    id INT NOT NULL,
    a STRING,
    b INT,
    c STRING,
    bucket INT,
    begins TIMESTAMP NOT NULL COMMENT 'Start of the version, inclusive',
    ends TIMESTAMP NOT NULL COMMENT 'Start of the next version, or time of the delete',
    the_row_hash STRING NOT NULL COMMENT 'SHA-256 of the tracked columns',
    the_action STRING NOT NULL COMMENT 'I first version, or first after a delete; U a later one; D closed by a delete'
)
USING DELTA
PARTITIONED BY (bucket)
TBLPROPERTIES (
    'delta.enableDeletionVectors' = 'true',
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id"]',
    'scdgen.history' = 'timestamp, open_end 9999-12-31 23:59:59.999',
    'scdgen.tracked' = '["a", "b"]'
);
