-- r.t151: it's \ number 151 -- of */ many
-- Creates the table if it does not exist.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

CREATE SCHEMA IF NOT EXISTS r;

CREATE TABLE IF NOT EXISTS r.t151 (
    id INT NOT NULL,
    a STRING COMMENT 'the first; \'quoted\'',
    b INT,
    c STRING,
    changed TIMESTAMP COMMENT 'Effective time of the newest change'
)
USING DELTA
LOCATION 'data/x/151/table'
COMMENT 'it\'s \\ number 151 -- of */ many'
TBLPROPERTIES (
    'delta.enableDeletionVectors' = 'true',
    'scdgen.pattern' = 'scd1',
    'scdgen.keys' = '["id"]'
);
