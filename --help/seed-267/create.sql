-- r.t267
-- Creates the table if it does not exist.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

CREATE SCHEMA IF NOT EXISTS r;

CREATE TABLE IF NOT EXISTS r.t267 (
    id INT NOT NULL,
    a STRING,
    b INT,
    c STRING,
    bucket INT,
    changed TIMESTAMP COMMENT 'Effective time of the newest change'
)
USING DELTA
PARTITIONED BY (bucket)
TBLPROPERTIES (
    'delta.enableDeletionVectors' = 'true',
    'scdgen.pattern' = 'scd1',
    'scdgen.keys' = '["id"]'
);
