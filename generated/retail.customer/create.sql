-- retail.customer: Customers by segment, as the loyalty program keeps them
-- Creates the table if it does not exist.
-- Generated from specs/sales/customer.yml. To change it, edit the spec and run `scdgen generate`.

-- A session with other times stops here: what is created below would keep them.
SELECT CASE
    WHEN TYPEOF(CAST(NULL AS TIMESTAMP)) <> 'timestamp'
        THEN RAISE_ERROR('[SCDGEN_SETTINGS] retail.customer: needs TIMESTAMP_LTZ')
END;

CREATE SCHEMA IF NOT EXISTS retail;

CREATE TABLE IF NOT EXISTS retail.customer (
    customer_id INT NOT NULL,
    name STRING,
    segment STRING,
    valid_from TIMESTAMP NOT NULL COMMENT 'Start of the version, inclusive',
    valid_to TIMESTAMP COMMENT 'Start of the next version, or time of the delete',
    is_current BOOLEAN NOT NULL COMMENT 'Whether the version is the open one'
)
USING DELTA
-- table.layout: open and closed versions are in separate files, so that a batch can skip those of old versions.
PARTITIONED BY (is_current)
COMMENT 'Customers by segment, as the loyalty program keeps them'
TBLPROPERTIES (
    'delta.enableDeletionVectors' = 'true',
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["customer_id"]',
    'scdgen.time_zone' = 'UTC',
    'scdgen.history' = 'timestamp',
    'scdgen.tracked' = '["name", "segment"]'
);
