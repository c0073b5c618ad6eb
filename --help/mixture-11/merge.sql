-- crm.customer
-- Keeps one row per key, column by column: the last, first, least or greatest value.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

MERGE INTO crm.customer AS t USING (
    WITH source AS (
        SELECT *
        FROM raw.rows
        WHERE x > 2
    ),
    source_rows AS (
        -- The source's rows, with the target's column names and types.
        SELECT
            CAST(id AS INT) AS id,
            CAST(region AS STRING) AS region,
            CAST(upper(full_name) AS STRING) AS name,
            CAST(town AS STRING) AS city,
            CAST(id % 3 AS INT) AS bucket,
            CAST(started AS TIMESTAMP) AS _scd_at
        FROM source
        WHERE (a = 1 OR b
              = 2)
            AND NOT COALESCE(op = 'D', FALSE)
    ),
    changes AS (
        -- A row without a key or a time is left out.
        SELECT *
        FROM source_rows
        WHERE NOT (id IS NULL OR region IS NULL OR _scd_at IS NULL)
    ),
    ranked AS (
        -- The rows of each key, the newest first.
        SELECT
            *,
            ROW_NUMBER() OVER by_key AS _scd_row
        FROM changes
        WINDOW by_key AS (PARTITION BY id, region ORDER BY _scd_at DESC, STRUCT(name, city, bucket))
    ),
    latest AS (
        -- One row per key.
        SELECT
            id, region,
            MIN_BY(name, STRUCT(_scd_at, STRUCT(name, city, bucket))) AS name,
            MAX_BY(city, STRUCT(_scd_at, STRUCT(name, city, bucket))) AS city,
            MAX_BY(bucket, STRUCT(_scd_at, STRUCT(name, city, bucket))) AS bucket,
            MAX(_scd_at) AS updated,
            MAX(_scd_at) AS _scd_time
        FROM ranked
        GROUP BY id, region
    )
    SELECT * FROM latest
) AS s
    -- A key identifies a row.
    ON t.id = s.id AND t.region = s.region
-- The stored row and the batch are combined column by column.
WHEN MATCHED
AND NOT (STRUCT(t.name, t.city, t.bucket, t.updated)
    <=> STRUCT(
        t.name, CASE WHEN s._scd_time >= t.updated THEN s.city ELSE t.city END AS city,
        CASE WHEN s._scd_time >= t.updated THEN s.bucket ELSE t.bucket END AS bucket,
        GREATEST(t.updated, s._scd_time) AS updated
    )) THEN
    UPDATE SET
        name = t.name,
        city = CASE WHEN s._scd_time >= t.updated THEN s.city ELSE t.city END,
        bucket = CASE WHEN s._scd_time >= t.updated THEN s.bucket ELSE t.bucket END,
        updated = GREATEST(t.updated, s._scd_time)
-- A new key.
WHEN NOT MATCHED THEN
    INSERT (id, region, name, city, bucket, updated)
    VALUES (s.id, s.region, s.name, s.city, s.bucket, s.updated);
