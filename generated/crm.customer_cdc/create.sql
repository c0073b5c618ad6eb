-- crm.customer_cdc: Customers, from a change feed with deletes; an update comes as a delete and an insert of one time
-- Creates the table if it does not exist.
-- Generated from specs/customer_cdc.yml. To change it, edit the spec and run `scdgen generate`.

-- A session with other times stops here: what is created below would keep them.
SELECT CASE
    WHEN TYPEOF(CAST(NULL AS TIMESTAMP)) <> 'timestamp'
        THEN RAISE_ERROR('[SCDGEN_SETTINGS] crm.customer_cdc: needs TIMESTAMP_LTZ')
END;

CREATE SCHEMA IF NOT EXISTS crm;

CREATE TABLE IF NOT EXISTS crm.customer_cdc (
    company STRING NOT NULL,
    customer_no STRING NOT NULL,
    name STRING,
    city STRING,
    valid_from TIMESTAMP NOT NULL COMMENT 'Start of the version, inclusive',
    valid_to TIMESTAMP COMMENT 'Start of the next version, or time of the delete',
    is_current BOOLEAN NOT NULL COMMENT 'Whether the version is the open one',
    action STRING NOT NULL COMMENT 'I first version, or first after a delete; U a later one; D closed by a delete',
    lsn BIGINT COMMENT 'Order among rows of one time, of the row that this one comes from'
)
USING DELTA
-- table.layout: open and closed versions are in separate files, so that a batch can skip those of old versions.
PARTITIONED BY (is_current)
COMMENT 'Customers, from a change feed with deletes; an update comes as a delete and an insert of one time'
TBLPROPERTIES (
    'delta.enableDeletionVectors' = 'true',
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["company", "customer_no"]',
    'scdgen.time_zone' = 'UTC',
    'scdgen.history' = 'timestamp',
    'scdgen.tracked' = '["name", "city"]'
);
