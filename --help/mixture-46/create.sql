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
    valid_from TIMESTAMP NOT NULL COMMENT 'Start of the version, inclusive',
    valid_to TIMESTAMP COMMENT 'Start of the next version, or time of the delete',
    is_current BOOLEAN NOT NULL COMMENT 'Whether the version is the open one'
)
USING DELTA
-- table.layout: open and closed versions are in separate files, so that a batch can skip those of old versions.
PARTITIONED BY (is_current)
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
        _scd_at AS valid_from,
        _scd_next AS valid_to,
        _scd_next IS NULL AS is_current
    FROM (
        SELECT
            0 AS id,
            'none' AS region,
            'Unknown' AS name,
            CAST(NULL AS STRING) AS city,
            CAST(NULL AS INT) AS bucket,
            TIMESTAMP '0001-01-01' AS _scd_at,
            CAST(NULL AS TIMESTAMP) AS _scd_next
    )
) AS s
    ON t.id = s.id AND t.region = s.region
-- Only if it is not there.
WHEN NOT MATCHED THEN
    INSERT (id, region, name, city, bucket, valid_from, valid_to, is_current)
    VALUES (s.id, s.region, s.name, s.city, s.bucket, s.valid_from, s.valid_to, s.is_current);
