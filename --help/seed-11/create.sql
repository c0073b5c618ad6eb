-- r.t11
-- Creates the table if it does not exist.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

CREATE SCHEMA IF NOT EXISTS r;

CREATE TABLE IF NOT EXISTS r.t11 (
    id INT NOT NULL,
    a STRING,
    b INT,
    c STRING
)
USING DELTA
CLUSTER BY (id)
LOCATION 'data/x/11/table'
TBLPROPERTIES (
    'delta.enableDeletionVectors' = 'false',
    'scdgen.pattern' = 'scd1',
    'scdgen.keys' = '["id"]'
);
