-- tpcdi.dim_broker: Employees who are brokers
-- Creates the table if it does not exist.
-- Generated from specs/tpcdi/dim_broker.yml. To change it, edit the spec and run `scdgen generate`.

CREATE SCHEMA IF NOT EXISTS tpcdi;

CREATE TABLE IF NOT EXISTS tpcdi.dim_broker (
    broker_id BIGINT NOT NULL,
    manager_id BIGINT,
    first_name STRING,
    last_name STRING,
    middle_initial STRING,
    branch STRING,
    office STRING,
    phone STRING,
    batch_id INT,
    sk_broker_id BIGINT NOT NULL COMMENT 'xxhash64 of the key and the start; one per version',
    effective_date DATE NOT NULL COMMENT 'Start of the version, inclusive',
    end_date DATE NOT NULL COMMENT 'Start of the next version, or time of the delete',
    is_current BOOLEAN NOT NULL COMMENT 'Whether the version is the open one'
)
USING DELTA
-- table.layout: open and closed versions are in separate files, so that a batch can skip those of old versions.
PARTITIONED BY (is_current)
COMMENT 'Employees who are brokers'
TBLPROPERTIES (
    'delta.enableDeletionVectors' = 'true',
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["broker_id"]',
    'scdgen.time_zone' = 'UTC',
    'scdgen.history' = 'date, open_end 9999-12-31',
    'scdgen.tracked' = '["manager_id", "first_name", "last_name", "middle_initial", "branch", "office", "phone"]'
);
