-- crm.customer_segment: Customers by segment, with the first, previous and current segment in a view
-- Creates the table if it does not exist.
-- Generated from specs/customer_segment.yml. To change it, edit the spec and run `scdgen generate`.

-- A session with other times stops here: what is created below would keep them.
SELECT CASE
    WHEN TYPEOF(CAST(NULL AS TIMESTAMP)) <> 'timestamp'
        THEN RAISE_ERROR('[SCDGEN_SETTINGS] crm.customer_segment: needs TIMESTAMP_LTZ')
END;

CREATE SCHEMA IF NOT EXISTS crm;

CREATE TABLE IF NOT EXISTS crm.customer_segment (
    id INT NOT NULL,
    name STRING,
    segment STRING,
    customer_sk STRING NOT NULL COMMENT 'SHA-256 of the key and the start; one per version',
    valid_from TIMESTAMP NOT NULL COMMENT 'Start of the version, inclusive',
    valid_to TIMESTAMP COMMENT 'Start of the next version, or time of the delete',
    is_current BOOLEAN NOT NULL COMMENT 'Whether the version is the open one'
)
USING DELTA
-- table.layout: open and closed versions are in separate files, so that a batch can skip those of old versions.
PARTITIONED BY (is_current)
COMMENT 'Customers by segment, with the first, previous and current segment in a view'
TBLPROPERTIES (
    'delta.enableDeletionVectors' = 'true',
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id"]',
    'scdgen.time_zone' = 'UTC',
    'scdgen.history' = 'timestamp',
    'scdgen.tracked' = '["segment"]'
);
