-- r.t13
-- Creates the table if it does not exist.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

CREATE SCHEMA IF NOT EXISTS r;

CREATE TABLE IF NOT EXISTS r.t13 (
    id INT NOT NULL,
    a STRING,
    b INT,
    c STRING,
    the_surrogate_key STRING NOT NULL COMMENT 'SHA-256 of the key and the start; one per version',
    begins DATE NOT NULL COMMENT 'Start of the version, inclusive',
    ends DATE NOT NULL COMMENT '1 day before the next version',
    current_flag STRING NOT NULL COMMENT 'Whether the version is the open one',
    the_row_hash STRING NOT NULL COMMENT 'SHA-256 of the tracked columns',
    is_deleted BOOLEAN NOT NULL COMMENT 'Whether the version is a delete'
)
USING DELTA
CLUSTER BY (id)
LOCATION 'data/x/13/table'
TBLPROPERTIES (
    'delta.enableDeletionVectors' = 'true',
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id"]',
    'scdgen.history' = 'date, gap 1 day, open_end 9999-12-31',
    'scdgen.tracked' = '["a", "b", "c"]'
);
