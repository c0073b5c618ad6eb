-- r.t235: it's \ number 235 -- of */ many
-- Creates the table if it does not exist.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

CREATE SCHEMA IF NOT EXISTS r;

CREATE TABLE IF NOT EXISTS r.t235 (
    id INT NOT NULL,
    a STRING COMMENT 'the first; \'quoted\'',
    b INT,
    c STRING,
    changed TIMESTAMP COMMENT 'Effective time of the newest change'
)
USING DELTA
CLUSTER BY (id)
LOCATION 'data/x/235/table'
COMMENT 'it\'s \\ number 235 -- of */ many'
TBLPROPERTIES (
    'delta.enableDeletionVectors' = 'false',
    'scdgen.pattern' = 'scd1',
    'scdgen.keys' = '["id"]'
);
