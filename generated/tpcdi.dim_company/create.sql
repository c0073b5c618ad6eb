-- tpcdi.dim_company: Companies, a version per day with a record of FINWIRE
-- Creates the table if it does not exist.
-- Generated from specs/tpcdi/dim_company.yml. To change it, edit the spec and run `scdgen generate`.

CREATE SCHEMA IF NOT EXISTS tpcdi;

CREATE TABLE IF NOT EXISTS tpcdi.dim_company (
    company_id BIGINT NOT NULL,
    status STRING,
    name STRING,
    industry STRING,
    sp_rating STRING,
    is_low_grade BOOLEAN,
    ceo STRING,
    address_line1 STRING,
    address_line2 STRING,
    postal_code STRING,
    city STRING,
    state_prov STRING,
    country STRING,
    description STRING,
    founding_date DATE,
    batch_id INT,
    sk_company_id BIGINT NOT NULL COMMENT 'xxhash64 of the key and the start; one per version',
    effective_date DATE NOT NULL COMMENT 'Start of the version, inclusive',
    end_date DATE NOT NULL COMMENT 'Start of the next version, or time of the delete',
    is_current BOOLEAN NOT NULL COMMENT 'Whether the version is the open one'
)
USING DELTA
-- table.layout: open and closed versions are in separate files, so that a batch can skip those of old versions.
PARTITIONED BY (is_current)
COMMENT 'Companies, a version per day with a record of FINWIRE'
TBLPROPERTIES (
    'delta.enableDeletionVectors' = 'true',
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["company_id"]',
    'scdgen.time_zone' = 'UTC',
    'scdgen.history' = 'date, open_end 9999-12-31',
    'scdgen.tracked'
        = '["status", "name", "industry", "sp_rating", "is_low_grade", "ceo", "address_line1", "address_line2", "postal_code", "city", "state_prov", "country", "description", "founding_date"]'
);
