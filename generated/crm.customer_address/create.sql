-- crm.customer_address: One row per address of a customer
-- Creates the table if it does not exist.
-- Generated from specs/customer_address.yml. To change it, edit the spec and run `scdgen generate`.

CREATE SCHEMA IF NOT EXISTS crm;

CREATE TABLE IF NOT EXISTS crm.customer_address (
    id INT NOT NULL,
    name STRING,
    address STRING,
    start_date DATE NOT NULL COMMENT 'Start of the version, inclusive',
    end_date DATE COMMENT 'Start of the next version, or time of the delete',
    is_current BOOLEAN NOT NULL COMMENT 'Whether the version is the open one'
)
USING DELTA
-- table.layout: open and closed versions are in separate files, so that a batch can skip those of old versions.
PARTITIONED BY (is_current)
COMMENT 'One row per address of a customer'
TBLPROPERTIES (
    'delta.enableDeletionVectors' = 'true',
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id"]',
    'scdgen.time_zone' = 'UTC',
    'scdgen.history' = 'date',
    'scdgen.tracked' = '["address"]'
);
