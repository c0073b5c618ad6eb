-- r.t51
-- Creates the table if it does not exist.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

CREATE SCHEMA IF NOT EXISTS r;

CREATE TABLE IF NOT EXISTS r.t51 (
    id INT NOT NULL,
    a STRING,
    b INT,
    c STRING,
    changed TIMESTAMP COMMENT 'Effective time of the newest change'
)
USING DELTA
TBLPROPERTIES (
    'delta.enableDeletionVectors' = 'true',
    'scdgen.pattern' = 'scd1',
    'scdgen.keys' = '["id"]'
);
