-- tpcdi.dim_security: Securities, with a version for each version of their company
-- Creates the table if it does not exist.
-- Generated from specs/tpcdi/dim_security.yml. To change it, edit the spec and run `scdgen generate`.

CREATE SCHEMA IF NOT EXISTS tpcdi;

CREATE TABLE IF NOT EXISTS tpcdi.dim_security (
    symbol STRING NOT NULL,
    issue STRING,
    status STRING,
    name STRING,
    exchange_id STRING,
    sk_company_id BIGINT,
    shares_outstanding BIGINT,
    first_trade DATE,
    first_trade_on_exchange DATE,
    dividend DECIMAL(10, 2),
    batch_id INT,
    sk_security_id BIGINT NOT NULL COMMENT 'xxhash64 of the key and the start; one per version',
    effective_date DATE NOT NULL COMMENT 'Start of the version, inclusive',
    end_date DATE NOT NULL COMMENT 'Start of the next version, or time of the delete',
    is_current BOOLEAN NOT NULL COMMENT 'Whether the version is the open one'
)
USING DELTA
-- table.layout: open and closed versions are in separate files, so that a batch can skip those of old versions.
PARTITIONED BY (is_current)
COMMENT 'Securities, with a version for each version of their company'
TBLPROPERTIES (
    'delta.enableDeletionVectors' = 'true',
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["symbol"]',
    'scdgen.time_zone' = 'UTC',
    'scdgen.history' = 'date, open_end 9999-12-31',
    'scdgen.tracked'
        = '["issue", "status", "name", "exchange_id", "sk_company_id", "shares_outstanding", "first_trade", "first_trade_on_exchange", "dividend"]'
);
