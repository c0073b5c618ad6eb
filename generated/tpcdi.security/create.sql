-- tpcdi.security: Securities as FINWIRE tells them, with the number of the company
-- Creates the table if it does not exist.
-- Generated from specs/tpcdi/security.yml. To change it, edit the spec and run `scdgen generate`.

CREATE SCHEMA IF NOT EXISTS tpcdi;

CREATE TABLE IF NOT EXISTS tpcdi.security (
    symbol STRING NOT NULL,
    issue STRING,
    status STRING,
    name STRING,
    exchange_id STRING,
    company_id BIGINT,
    shares_outstanding BIGINT,
    first_trade DATE,
    first_trade_on_exchange DATE,
    dividend DECIMAL(10, 2),
    batch_id INT,
    effective_date DATE NOT NULL COMMENT 'Start of the version, inclusive',
    end_date DATE NOT NULL COMMENT 'Start of the next version, or time of the delete',
    is_current BOOLEAN NOT NULL COMMENT 'Whether the version is the open one'
)
USING DELTA
-- table.layout: open and closed versions are in separate files, so that a batch can skip those of old versions.
PARTITIONED BY (is_current)
COMMENT 'Securities as FINWIRE tells them, with the number of the company'
TBLPROPERTIES (
    'delta.enableDeletionVectors' = 'true',
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["symbol"]',
    'scdgen.time_zone' = 'UTC',
    'scdgen.history' = 'date, open_end 9999-12-31',
    'scdgen.tracked'
        = '["issue", "status", "name", "exchange_id", "company_id", "shares_outstanding", "first_trade", "first_trade_on_exchange", "dividend"]'
);
