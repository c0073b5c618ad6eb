-- dwh.dim_customer: Customer dimension; a change of address or date of birth opens a version, a change of name does not
-- Creates the table if it does not exist.
-- Generated from specs/dim_design.yml. To change it, edit the spec and run `scdgen generate`.

CREATE SCHEMA IF NOT EXISTS dwh;

CREATE TABLE IF NOT EXISTS dwh.dim_customer (
    region STRING NOT NULL COMMENT 'Sales region, part of the key',
    customer_no STRING NOT NULL COMMENT 'Number within the region',
    name STRING,
    address STRING,
    birth_date DATE,
    customer_sk STRING NOT NULL COMMENT 'SHA-256 of the key and the start; one per version',
    start_date DATE NOT NULL COMMENT 'Start of the version, inclusive',
    end_date DATE NOT NULL COMMENT '1 day before the next version or delete',
    current_flag STRING NOT NULL COMMENT 'Whether the version is the open one',
    row_hash STRING NOT NULL COMMENT 'SHA-256 of the tracked columns'
)
USING DELTA
PARTITIONED BY (region)
COMMENT 'Customer dimension; a change of address or date of birth opens a version, a change of name does not'
TBLPROPERTIES (
    'delta.enableDeletionVectors' = 'true',
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["region", "customer_no"]',
    'scdgen.time_zone' = 'UTC',
    'scdgen.history' = 'date, gap 1 day, open_end 9999-12-31',
    'scdgen.tracked' = '["address", "birth_date"]'
);
