-- r.t195: it's \ number 195 -- of */ many
-- Creates the table if it does not exist.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

CREATE SCHEMA IF NOT EXISTS r;

CREATE TABLE IF NOT EXISTS r.t195 (
    id INT NOT NULL,
    a STRING COMMENT 'the first; \'quoted\'',
    b INT,
    c STRING
)
USING DELTA
COMMENT 'it\'s \\ number 195 -- of */ many'
TBLPROPERTIES (
    'delta.enableDeletionVectors' = 'false',
    'scdgen.pattern' = 'scd1',
    'scdgen.keys' = '["id"]'
);
