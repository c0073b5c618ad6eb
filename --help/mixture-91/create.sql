-- crm.customer
-- Creates the table if it does not exist.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

CREATE SCHEMA IF NOT EXISTS crm;

CREATE TABLE IF NOT EXISTS crm.customer (
    id INT NOT NULL,
    region STRING NOT NULL,
    name STRING COMMENT 'As it is written',
    city STRING,
    bucket INT,
    version_key STRING NOT NULL COMMENT 'SHA-256 of the key and the start; one per version',
    starts TIMESTAMP NOT NULL COMMENT 'Start of the version, inclusive',
    valid_to TIMESTAMP NOT NULL COMMENT 'Start of the next version, or time of the delete',
    flag STRING NOT NULL COMMENT 'Whether the version is the open one',
    hash STRING NOT NULL COMMENT 'SHA-256 of the tracked columns'
)
USING DELTA
CLUSTER BY (city)
TBLPROPERTIES (
    'delta.enableDeletionVectors' = 'true',
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id", "region"]',
    'scdgen.history' = 'timestamp, open_end 2999-12-31',
    'scdgen.tracked' = '["name", "city", "bucket"]'
);
