-- tpcdi.dim_customer: Customers, by the actions of ten years and then by full rows of each day
-- Creates the table if it does not exist.
-- Generated from specs/tpcdi/dim_customer.yml. To change it, edit the spec and run `scdgen generate`.

CREATE SCHEMA IF NOT EXISTS tpcdi;

CREATE TABLE IF NOT EXISTS tpcdi.dim_customer (
    customer_id BIGINT NOT NULL,
    tax_id STRING,
    status STRING,
    last_name STRING,
    first_name STRING,
    middle_initial STRING,
    gender STRING,
    tier INT,
    dob DATE,
    address_line1 STRING,
    address_line2 STRING,
    postal_code STRING,
    city STRING,
    state_prov STRING,
    country STRING,
    phone1 STRING,
    phone2 STRING,
    phone3 STRING,
    email1 STRING,
    email2 STRING,
    national_tax_rate_desc STRING,
    national_tax_rate DECIMAL(6, 5),
    local_tax_rate_desc STRING,
    local_tax_rate DECIMAL(6, 5),
    batch_id INT,
    sk_customer_id BIGINT NOT NULL COMMENT 'xxhash64 of the key and the start; one per version',
    effective_date DATE NOT NULL COMMENT 'Start of the version, inclusive',
    end_date DATE NOT NULL COMMENT 'Start of the next version, or time of the delete',
    is_current BOOLEAN NOT NULL COMMENT 'Whether the version is the open one'
)
USING DELTA
-- table.layout: open and closed versions are in separate files, so that a batch can skip those of old versions.
PARTITIONED BY (is_current)
COMMENT 'Customers, by the actions of ten years and then by full rows of each day'
TBLPROPERTIES (
    'delta.enableDeletionVectors' = 'true',
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["customer_id"]',
    'scdgen.time_zone' = 'UTC',
    'scdgen.history' = 'date, open_end 9999-12-31',
    'scdgen.tracked'
        = '["tax_id", "status", "last_name", "first_name", "middle_initial", "gender", "tier", "dob", "address_line1", "address_line2", "postal_code", "city", "state_prov", "country", "phone1", "phone2", "phone3", "email1", "email2", "national_tax_rate_desc", "national_tax_rate", "local_tax_rate_desc", "local_tax_rate"]'
);
