-- crm.customer_member: A row per version of a customer, and one per customer that only orders name so far
-- Creates the table if it does not exist, and its unknown member.
-- Generated from specs/customer_member.yml. To change it, edit the spec and run `scdgen generate`.

-- A session with other times stops here: what is created below would keep them.
SELECT CASE
    WHEN TYPEOF(CAST(NULL AS TIMESTAMP)) <> 'timestamp'
        THEN RAISE_ERROR('[SCDGEN_SETTINGS] crm.customer_member: needs TIMESTAMP_LTZ')
END;

CREATE SCHEMA IF NOT EXISTS crm;

CREATE TABLE IF NOT EXISTS crm.customer_member (
    id INT NOT NULL,
    segment STRING,
    customer_sk STRING NOT NULL COMMENT 'SHA-256 of the key and the start; one per version',
    valid_from TIMESTAMP NOT NULL COMMENT 'Start of the version, inclusive',
    valid_to TIMESTAMP COMMENT 'Start of the next version, or time of the delete',
    is_current BOOLEAN NOT NULL COMMENT 'Whether the version is the open one',
    is_inferred BOOLEAN NOT NULL COMMENT 'Whether only facts have named the key so far'
)
USING DELTA
-- table.layout: open and closed versions are in separate files, so that a batch can skip those of old versions.
PARTITIONED BY (is_current)
COMMENT 'A row per version of a customer, and one per customer that only orders name so far'
TBLPROPERTIES (
    'delta.enableDeletionVectors' = 'true',
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id"]',
    'scdgen.time_zone' = 'UTC',
    'scdgen.history' = 'timestamp',
    'scdgen.tracked' = '["segment"]'
);

-- The unknown member: an open version for facts without a member.
MERGE INTO crm.customer_member AS t USING (
    SELECT
        id, segment,
        SHA2(TO_JSON(ARRAY(CAST(id AS STRING), CAST(UNIX_MICROS(_scd_at) AS STRING))), 256) AS customer_sk,
        _scd_at AS valid_from, _scd_to AS valid_to,
        _scd_to IS NULL AS is_current,
        FALSE AS is_inferred
    FROM (
        SELECT
            -1 AS id, 'Unknown' AS segment, TIMESTAMP '1900-01-01 00:00:00 UTC' AS _scd_at,
            CAST(NULL AS TIMESTAMP) AS _scd_to
    )
) AS s
    ON t.id = s.id
-- Only if it is not there.
WHEN NOT MATCHED THEN INSERT (id, segment, customer_sk, valid_from, valid_to, is_current, is_inferred)
    VALUES (s.id, s.segment, s.customer_sk, s.valid_from, s.valid_to, s.is_current, s.is_inferred);
