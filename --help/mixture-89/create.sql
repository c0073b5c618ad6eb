-- crm.`odd ``name`: Other
-- Creates the table if it does not exist.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

CREATE SCHEMA IF NOT EXISTS crm;

CREATE TABLE IF NOT EXISTS crm.`odd ``name` (
    id INT NOT NULL,
    region STRING NOT NULL,
    name STRING,
    city STRING,
    bucket INT,
    sk STRING NOT NULL COMMENT 'SHA-256 of the key and the start; one per version',
    valid_from DATE NOT NULL COMMENT 'Start of the version, inclusive',
    valid_to DATE NOT NULL COMMENT 'Start of the next version, or time of the delete',
    is_current BOOLEAN NOT NULL COMMENT 'Whether the version is the open one',
    digest STRING NOT NULL COMMENT 'SHA-256 of the tracked columns',
    is_deleted BOOLEAN NOT NULL COMMENT 'Whether the version is a delete'
)
USING DELTA
-- table.layout: open and closed versions are in separate files, so that a batch can skip those of old versions.
PARTITIONED BY (is_current)
COMMENT 'Other'
TBLPROPERTIES (
    'delta.enableDeletionVectors' = 'true',
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id", "region"]',
    'scdgen.history' = 'date, open_end 2999-12-31',
    'scdgen.tracked' = '["name", "city", "bucket"]'
);
