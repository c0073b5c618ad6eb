-- crm.customer
-- Creates the table if it does not exist, and its unknown member.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

CREATE SCHEMA IF NOT EXISTS crm;

CREATE TABLE IF NOT EXISTS crm.customer (
    id INT NOT NULL,
    region STRING NOT NULL,
    name STRING,
    city STRING,
    bucket INT,
    valid_from DATE NOT NULL COMMENT 'Start of the version, inclusive',
    ends DATE COMMENT 'Start of the next version, or time of the delete',
    is_current BOOLEAN NOT NULL COMMENT 'Whether the version is the open one',
    hash STRING NOT NULL COMMENT 'SHA-256 of the tracked columns',
    guessed BOOLEAN NOT NULL COMMENT 'Whether only facts have named the key so far'
)
USING DELTA
CLUSTER BY (city)
TBLPROPERTIES (
    'delta.enableDeletionVectors' = 'true',
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id", "region"]',
    'scdgen.history' = 'date',
    'scdgen.tracked' = '["name", "city", "bucket"]'
);

-- The unknown member: an open version from the beginning of time, for facts without a member.
MERGE INTO crm.customer AS t USING (
    SELECT
        id, region, name, city, bucket,
        _scd_at AS valid_from,
        _scd_next AS ends,
        _scd_next IS NULL AS is_current,
        SHA2(
            TO_JSON(STRUCT(CAST(bucket AS STRING) AS bucket, city, name), MAP('ignoreNullFields', 'true')),
            256
        )
            AS hash,
        FALSE AS guessed
    FROM (
        SELECT
            0 AS id,
            'none' AS region,
            'Unknown' AS name,
            CAST(NULL AS STRING) AS city,
            CAST(NULL AS INT) AS bucket,
            DATE '0001-01-01' AS _scd_at,
            CAST(NULL AS DATE) AS _scd_next
    )
) AS s
    ON t.id = s.id AND t.region = s.region
-- Only if it is not there.
WHEN NOT MATCHED THEN
    INSERT (id, region, name, city, bucket, valid_from, ends, is_current, hash, guessed)
    VALUES (s.id, s.region, s.name, s.city, s.bucket, s.valid_from, s.ends, s.is_current, s.hash, s.guessed);
