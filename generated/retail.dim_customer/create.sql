-- retail.dim_customer: A row per version of a customer with segment and address, for reports on orders
-- Creates the table if it does not exist, and its unknown member.
-- Generated from specs/sales/dim_customer.yml. To change it, edit the spec and run `scdgen generate`.

-- A session with other times stops here: what is created below would keep them.
SELECT CASE
    WHEN TYPEOF(CAST(NULL AS TIMESTAMP)) <> 'timestamp'
        THEN RAISE_ERROR('[SCDGEN_SETTINGS] retail.dim_customer: needs TIMESTAMP_LTZ')
END;

CREATE SCHEMA IF NOT EXISTS retail;

CREATE TABLE IF NOT EXISTS retail.dim_customer (
    customer_id INT NOT NULL,
    name STRING,
    segment STRING,
    street STRING,
    city STRING,
    customer_sk STRING NOT NULL COMMENT 'SHA-256 of the key and the start; one per version',
    valid_from TIMESTAMP NOT NULL COMMENT 'Start of the version, inclusive',
    valid_to TIMESTAMP COMMENT 'Start of the next version, or time of the delete',
    is_current BOOLEAN NOT NULL COMMENT 'Whether the version is the open one',
    is_inferred BOOLEAN NOT NULL COMMENT 'Whether only facts have named the key so far'
)
USING DELTA
-- table.layout: open and closed versions are in separate files, so that a batch can skip those of old versions.
PARTITIONED BY (is_current)
COMMENT 'A row per version of a customer with segment and address, for reports on orders'
TBLPROPERTIES (
    'delta.enableDeletionVectors' = 'true',
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["customer_id"]',
    'scdgen.time_zone' = 'UTC',
    'scdgen.history' = 'timestamp',
    'scdgen.tracked' = '["name", "segment", "street", "city"]'
);

-- The unknown member: an open version for facts without a member.
MERGE INTO retail.dim_customer AS t USING (
    SELECT
        customer_id, name, segment, street, city,
        SHA2(TO_JSON(ARRAY(CAST(customer_id AS STRING), CAST(UNIX_MICROS(_scd_at) AS STRING))), 256) AS customer_sk,
        _scd_at AS valid_from, _scd_to AS valid_to,
        _scd_to IS NULL AS is_current,
        FALSE AS is_inferred
    FROM (
        SELECT
            -1 AS customer_id, 'Unknown' AS name, 'Unknown' AS segment,
            CAST(NULL AS STRING) AS street,
            CAST(NULL AS STRING) AS city,
            TIMESTAMP '1900-01-01 00:00:00 UTC' AS _scd_at,
            CAST(NULL AS TIMESTAMP) AS _scd_to
    )
) AS s
    ON t.customer_id = s.customer_id
-- Only if it is not there.
WHEN NOT MATCHED THEN INSERT (
    customer_id, name, segment, street, city, customer_sk, valid_from, valid_to, is_current, is_inferred
) VALUES (
    s.customer_id, s.name, s.segment, s.street, s.city, s.customer_sk, s.valid_from, s.valid_to, s.is_current,
    s.is_inferred
);
