-- crm.customer: Other
-- Creates the table if it does not exist, and its unknown member.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

CREATE SCHEMA IF NOT EXISTS crm;

CREATE TABLE IF NOT EXISTS crm.customer (
    id INT NOT NULL,
    region STRING NOT NULL,
    name CHAR(3),
    city STRING,
    bucket INT,
    starts TIMESTAMP NOT NULL COMMENT 'Start of the version, inclusive',
    valid_to TIMESTAMP COMMENT 'Start of the next version, or time of the delete',
    open_now BOOLEAN NOT NULL COMMENT 'Whether the version is the open one',
    hash STRING NOT NULL COMMENT 'SHA-256 of the tracked columns',
    action STRING NOT NULL COMMENT 'I first version, or first after a delete; U a later one; D closed by a delete',
    is_deleted BOOLEAN NOT NULL COMMENT 'Whether the version is a delete'
)
USING DELTA
COMMENT 'Other'
TBLPROPERTIES (
    'delta.enableDeletionVectors' = 'true',
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id", "region"]',
    'scdgen.history' = 'timestamp',
    'scdgen.tracked' = '["name", "city", "bucket"]'
);

-- The unknown member: an open version from the beginning of time, for facts without a member.
MERGE INTO crm.customer AS t USING (
    SELECT
        id, region, name, city, bucket,
        _scd_at AS starts,
        _scd_next AS valid_to,
        _scd_next IS NULL AS open_now,
        SHA2(
            TO_JSON(STRUCT(CAST(bucket AS STRING) AS bucket, city, name), MAP('ignoreNullFields', 'true')),
            256
        )
            AS hash,
        'I' AS action,
        FALSE AS is_deleted
    FROM (
        SELECT
            -1 AS id,
            'none' AS region,
            RPAD(CAST(NULL AS STRING), GREATEST(3, LENGTH(CAST(NULL AS STRING)))) AS name,
            CAST(NULL AS STRING) AS city,
            CAST(NULL AS INT) AS bucket,
            TIMESTAMP '0001-01-01' AS _scd_at,
            CAST(NULL AS TIMESTAMP) AS _scd_next
    )
) AS s
    ON t.id = s.id AND t.region = s.region
-- Only if it is not there.
WHEN NOT MATCHED THEN
    INSERT (id, region, name, city, bucket, starts, valid_to, open_now, hash, action, is_deleted)
    VALUES (
        s.id, s.region, s.name, s.city, s.bucket, s.starts, s.valid_to, s.open_now, s.hash, s.action, s.is_deleted
    );
