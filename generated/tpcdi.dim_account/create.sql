-- tpcdi.dim_account: Accounts, with a version for each version of their customer and broker
-- Creates the table if it does not exist.
-- Generated from specs/tpcdi/dim_account.yml. To change it, edit the spec and run `scdgen generate`.

CREATE SCHEMA IF NOT EXISTS tpcdi;

CREATE TABLE IF NOT EXISTS tpcdi.dim_account (
    account_id BIGINT NOT NULL,
    sk_broker_id BIGINT,
    sk_customer_id BIGINT,
    status STRING,
    account_desc STRING,
    tax_status INT,
    batch_id INT,
    sk_account_id BIGINT NOT NULL COMMENT 'xxhash64 of the key and the start; one per version',
    effective_date DATE NOT NULL COMMENT 'Start of the version, inclusive',
    end_date DATE NOT NULL COMMENT 'Start of the next version, or time of the delete',
    is_current BOOLEAN NOT NULL COMMENT 'Whether the version is the open one'
)
USING DELTA
-- table.layout: open and closed versions are in separate files, so that a batch can skip those of old versions.
PARTITIONED BY (is_current)
COMMENT 'Accounts, with a version for each version of their customer and broker'
TBLPROPERTIES (
    'delta.enableDeletionVectors' = 'true',
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["account_id"]',
    'scdgen.time_zone' = 'UTC',
    'scdgen.history' = 'date, open_end 9999-12-31',
    'scdgen.tracked' = '["sk_broker_id", "sk_customer_id", "status", "account_desc", "tax_status"]'
);
