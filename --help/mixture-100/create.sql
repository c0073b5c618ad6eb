-- crm.customer
-- Creates the table if it does not exist.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

CREATE SCHEMA IF NOT EXISTS crm;

CREATE TABLE IF NOT EXISTS crm.customer (
    id INT NOT NULL,
    region STRING NOT NULL,
    name STRING,
    city STRING,
    bucket INT,
    valid_from DATE NOT NULL COMMENT 'Start of the version, inclusive',
    valid_to DATE NOT NULL COMMENT 'Start of the next version, or time of the delete',
    open_now BOOLEAN NOT NULL COMMENT 'Whether the version is the open one',
    what STRING NOT NULL COMMENT 'I first version, or first after a delete; U a later one; D closed by a delete'
)
USING DELTA
PARTITIONED BY (bucket)
TBLPROPERTIES (
    'delta.enableDeletionVectors' = 'true',
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id", "region"]',
    'scdgen.history' = 'date, open_end 9999-12-31',
    'scdgen.tracked' = '["name", "city", "bucket"]'
);
