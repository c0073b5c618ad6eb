-- crm.customer: What {they} are: it's "so"
-- Creates the table if it does not exist.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

CREATE SCHEMA IF NOT EXISTS crm;

CREATE TABLE IF NOT EXISTS crm.customer (
    id INT NOT NULL,
    region STRING,
    name CHAR(3),
    city STRING,
    bucket INT,
    updated TIMESTAMP COMMENT 'Effective time of the newest change'
)
USING DELTA
CLUSTER BY (city)
COMMENT 'What {they} are: it\'s "so"'
TBLPROPERTIES (
    'delta.enableDeletionVectors' = 'true',
    'delta.appendOnly' = 'false',
    'scdgen.pattern' = 'scd1',
    'scdgen.keys' = '["id"]'
);
