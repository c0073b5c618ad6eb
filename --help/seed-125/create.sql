-- r.t125: it's \ number 125 -- of */ many
-- Creates the table if it does not exist.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

CREATE SCHEMA IF NOT EXISTS r;

CREATE TABLE IF NOT EXISTS r.t125 (
    id INT NOT NULL,
    a STRING COMMENT 'the first; \'quoted\'',
    b INT,
    c STRING,
    the_surrogate_key STRING NOT NULL COMMENT 'SHA-256 of the key and the start; one per version',
    begins TIMESTAMP NOT NULL COMMENT 'Start of the version, inclusive',
    ends TIMESTAMP NOT NULL COMMENT '1 microsecond before the next version',
    is_current INT NOT NULL COMMENT 'Whether the version is the open one'
)
USING DELTA
COMMENT 'it\'s \\ number 125 -- of */ many'
TBLPROPERTIES (
    'delta.enableDeletionVectors' = 'true',
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id"]',
    'scdgen.history' = 'timestamp, gap 1 microsecond, open_end 9999-12-31 23:59:59.999',
    'scdgen.tracked' = '["c"]'
);
