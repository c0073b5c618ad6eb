-- r.t78
-- Creates the table if it does not exist.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

CREATE SCHEMA IF NOT EXISTS r;

CREATE TABLE IF NOT EXISTS r.t78 (
    id INT NOT NULL,
    a STRING,
    b INT,
    c STRING,
    begins TIMESTAMP NOT NULL COMMENT 'Start of the version, inclusive',
    ends TIMESTAMP NOT NULL COMMENT 'Start of the next version, or time of the delete',
    is_current INT NOT NULL COMMENT 'Whether the version is the open one'
)
USING DELTA
CLUSTER BY (id)
TBLPROPERTIES (
    'delta.enableDeletionVectors' = 'true',
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id"]',
    'scdgen.history' = 'timestamp, open_end last_run',
    'scdgen.tracked' = '["a", "b", "c"]'
);
