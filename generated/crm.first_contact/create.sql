-- crm.first_contact: How each customer first came to us.
-- Creates the table if it does not exist.
-- Generated from specs/first_contact.yml. To change it, edit the spec and run `scdgen generate`.

-- A session with other times stops here: what is created below would keep them.
SELECT CASE
    WHEN TYPEOF(CAST(NULL AS TIMESTAMP)) <> 'timestamp'
        THEN RAISE_ERROR('[SCDGEN_SETTINGS] crm.first_contact: needs TIMESTAMP_LTZ')
END;

CREATE SCHEMA IF NOT EXISTS crm;

CREATE TABLE IF NOT EXISTS crm.first_contact (
    customer_id INT NOT NULL,
    channel STRING,
    campaign STRING,
    contacted_at TIMESTAMP
)
USING DELTA
COMMENT 'How each customer first came to us.'
TBLPROPERTIES (
    'delta.enableDeletionVectors' = 'true',
    'scdgen.pattern' = 'scd0',
    'scdgen.keys' = '["customer_id"]',
    'scdgen.time_zone' = 'UTC'
);
