-- r.t86: it's \ number 86 -- of */ many
-- Creates the table if it does not exist.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

CREATE SCHEMA IF NOT EXISTS r;

CREATE TABLE IF NOT EXISTS r.t86 (
    id INT NOT NULL,
    a STRING COMMENT 'the first; \'quoted\'',
    b INT,
    c STRING,
    bucket INT,
    the_surrogate_key STRING NOT NULL COMMENT 'SHA-256 of the key and the start; one per version',
    begins TIMESTAMP NOT NULL COMMENT 'Start of the version, inclusive',
    ends TIMESTAMP NOT NULL COMMENT '1 millisecond before the next version',
    is_current BOOLEAN NOT NULL COMMENT 'Whether the version is the open one'
)
USING DELTA
PARTITIONED BY (bucket)
LOCATION 'data/x/86/table'
COMMENT 'it\'s \\ number 86 -- of */ many'
TBLPROPERTIES (
    'delta.enableDeletionVectors' = 'true',
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id"]',
    'scdgen.history' = 'timestamp, gap 1 millisecond, open_end 9999-12-31 23:59:59.999',
    'scdgen.tracked' = '["a", "b", "c"]'
);
