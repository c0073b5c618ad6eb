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
    version_key STRING NOT NULL COMMENT 'SHA-256 of the key and the start; one per version',
    valid_from BIGINT NOT NULL COMMENT 'Start of the version, inclusive',
    valid_to BIGINT COMMENT 'Start of the next version, or time of the delete',
    flag INT NOT NULL COMMENT 'Whether the version is the open one'
)
USING DELTA
TBLPROPERTIES (
    'delta.enableDeletionVectors' = 'true',
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id", "region"]',
    'scdgen.history' = 'bigint',
    'scdgen.tracked' = '["name", "city", "bucket"]'
);

-- The unknown member: an open version from the beginning of time, for facts without a member.
MERGE INTO crm.customer AS t USING (
    SELECT
        id, region, name, city, bucket,
        SHA2(TO_JSON(ARRAY(CAST(id AS STRING), region, CAST(_scd_at AS STRING))), 256) AS version_key,
        _scd_at AS valid_from,
        _scd_next AS valid_to,
        CASE WHEN _scd_next IS NULL THEN 1 ELSE 0 END AS flag
    FROM (
        SELECT
            0 AS id,
            'none' AS region,
            'Unknown' AS name,
            CAST(NULL AS STRING) AS city,
            CAST(NULL AS INT) AS bucket,
            CAST('-9223372036854775808' AS BIGINT) AS _scd_at,
            CAST(NULL AS BIGINT) AS _scd_next
    )
) AS s
    ON t.id = s.id AND t.region = s.region
-- Only if it is not there.
WHEN NOT MATCHED THEN
    INSERT (id, region, name, city, bucket, version_key, valid_from, valid_to, flag)
    VALUES (s.id, s.region, s.name, s.city, s.bucket, s.version_key, s.valid_from, s.valid_to, s.flag);
