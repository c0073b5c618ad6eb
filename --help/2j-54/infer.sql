-- crm.customer
-- Adds the keys that facts name and the table lacks, each as an inferred member: an open version from the earliest time
-- of its facts on, in which every column is NULL except the key. The source completes it. Run it before merge.sql. The
-- same facts again change nothing.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

MERGE INTO crm.customer AS t USING (
    WITH source_rows AS (
        -- Keys and times of the facts, in the types of the table.
        SELECT
            CAST(customer AS INT) AS id,
            CAST(area AS STRING) AS region,
            CAST(t + 1 AS TIMESTAMP) AS _scd_at
        FROM raw.g
    ),
    versions AS (
        -- One per key, from its earliest fact on. A fact without a key or a time infers nothing.
        SELECT
            id, region,
            CAST(NULL AS STRING) AS name,
            CAST(NULL AS STRING) AS city,
            CAST(NULL AS INT) AS bucket,
            MIN(_scd_at) AS _scd_at,
            CAST(NULL AS TIMESTAMP) AS _scd_next
        FROM source_rows
        WHERE id IS NOT NULL
            AND region IS NOT NULL
            AND _scd_at IS NOT NULL
        GROUP BY id, region
    )
    SELECT
        id, region, name, city, bucket,
        _scd_at AS valid_from,
        _scd_next AS valid_to,
        _scd_next IS NULL AS is_current,
        TRUE AS guess
    FROM versions
) AS s
    ON t.id = s.id AND t.region = s.region
-- Of an inferred member an earlier fact has come.
WHEN MATCHED AND t.guess AND s.valid_from < t.valid_from THEN
    UPDATE SET valid_from = s.valid_from
-- A key that the table lacks.
WHEN NOT MATCHED THEN
    INSERT (id, region, name, city, bucket, valid_from, valid_to, is_current, guess)
    VALUES (s.id, s.region, s.name, s.city, s.bucket, s.valid_from, s.valid_to, s.is_current, s.guess);
