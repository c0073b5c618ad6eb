-- crm.customer_full: Customers, from a full extract; a customer that is gone from it is closed
-- Creates the table if it does not exist.
-- Generated from specs/customer_full.yml. To change it, edit the spec and run `scdgen generate`.

-- A session with other times stops here: what is created below would keep them.
SELECT CASE
    WHEN TYPEOF(CAST(NULL AS TIMESTAMP)) <> 'timestamp'
        THEN RAISE_ERROR('[SCDGEN_SETTINGS] crm.customer_full: needs TIMESTAMP_LTZ')
END;

CREATE SCHEMA IF NOT EXISTS crm;

CREATE TABLE IF NOT EXISTS crm.customer_full (
    customer_no STRING NOT NULL,
    name STRING,
    effective_ts TIMESTAMP NOT NULL COMMENT 'Start of the version, inclusive',
    expiry_ts TIMESTAMP NOT NULL COMMENT '1 millisecond before the next version or delete',
    is_current INT NOT NULL COMMENT 'Whether the version is the open one'
)
USING DELTA
-- table.layout: open and closed versions are in separate files, so that a batch can skip those of old versions.
PARTITIONED BY (is_current)
COMMENT 'Customers, from a full extract; a customer that is gone from it is closed'
TBLPROPERTIES (
    'delta.enableDeletionVectors' = 'true',
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["customer_no"]',
    'scdgen.time_zone' = 'UTC',
    'scdgen.history' = 'timestamp, gap 1 millisecond, open_end 9999-12-31 23:59:59.999',
    'scdgen.tracked' = '["name"]'
);
