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
    begins DATE NOT NULL COMMENT 'Start of the version, inclusive',
    valid_to DATE COMMENT 'Start of the next version, or time of the delete',
    flag INT NOT NULL COMMENT 'Whether the version is the open one',
    what STRING NOT NULL COMMENT 'I first version, or first after a delete; U a later one; D closed by a delete'
)
USING DELTA
-- table.layout: open and closed versions are in separate files, so that a batch can skip those of old versions.
PARTITIONED BY (flag)
TBLPROPERTIES (
    'delta.enableDeletionVectors' = 'true',
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id", "region"]',
    'scdgen.history' = 'date',
    'scdgen.tracked' = '["city", "bucket"]'
);

-- The unknown member: an open version from the beginning of time, for facts without a member.
MERGE INTO crm.customer AS t USING (
    SELECT
        id, region, name, city, bucket,
        _scd_at AS begins,
        _scd_next AS valid_to,
        CASE WHEN _scd_next IS NULL THEN 1 ELSE 0 END AS flag,
        'I' AS what
    FROM (
        SELECT
            -1 AS id,
            'none' AS region,
            CAST(NULL AS STRING) AS name,
            CAST(NULL AS STRING) AS city,
            CAST(NULL AS INT) AS bucket,
            DATE '0001-01-01' AS _scd_at,
            CAST(NULL AS DATE) AS _scd_next
    )
) AS s
    ON t.id = s.id AND t.region = s.region
-- Only if it is not there.
WHEN NOT MATCHED THEN
    INSERT (id, region, name, city, bucket, begins, valid_to, flag, what)
    VALUES (s.id, s.region, s.name, s.city, s.bucket, s.begins, s.valid_to, s.flag, s.what);
