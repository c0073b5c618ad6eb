-- r.t208: it's \ number 208 -- of */ many
-- Creates the table if it does not exist.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

CREATE SCHEMA IF NOT EXISTS r;

CREATE TABLE IF NOT EXISTS r.t208 (
    id INT NOT NULL,
    a STRING COMMENT 'the first; \'quoted\'',
    b INT,
    c STRING,
    begins DATE NOT NULL COMMENT 'Start of the version, inclusive',
    ends DATE COMMENT 'Start of the next version, or time of the delete',
    is_current INT NOT NULL COMMENT 'Whether the version is the open one'
)
USING DELTA
CLUSTER BY (id)
COMMENT 'it\'s \\ number 208 -- of */ many'
TBLPROPERTIES (
    'delta.enableDeletionVectors' = 'true',
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id"]',
    'scdgen.history' = 'date',
    'scdgen.tracked' = '["a", "b", "c"]'
);
