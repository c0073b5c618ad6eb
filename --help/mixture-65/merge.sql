-- crm.customer
-- Keeps one row per key: the newest change.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.
-- Set before this runs: DECLARE OR REPLACE VARIABLE since DATE DEFAULT ...;

MERGE INTO crm.customer AS t USING (
    WITH source_rows AS (
        -- The source's rows, with the target's column names and types.
        SELECT
            CAST(id AS INT) AS id,
            CAST(region AS STRING) AS region,
            CAST(name AS STRING) AS name,
            CAST(town AS STRING) AS city,
            CAST(id % 3 AS INT) AS bucket,
            COALESCE(gone, FALSE) AS _scd_deleted,
            lsn AS _scd_sequence_1,
            part AS _scd_sequence_2
        FROM raw.rows
        WHERE happened > session.since
    ),
    changes AS (
        -- A row without a key is left out.
        SELECT *
        FROM source_rows
        WHERE NOT (id IS NULL OR region IS NULL)
    ),
    ranked AS (
        -- The rows of each key, the newest first.
        SELECT
            *,
            ROW_NUMBER() OVER by_key AS _scd_row
        FROM changes
        WINDOW by_key AS (PARTITION BY id, region ORDER BY _scd_sequence_1 DESC, _scd_sequence_2 DESC, _scd_deleted DESC, STRUCT(name, city, bucket))
    ),
    latest AS (
        -- One row per key.
        SELECT
            id, region, name, city, bucket, _scd_deleted
        FROM ranked
        WHERE _scd_row = 1
    )
    SELECT * FROM latest
) AS s
    -- A key identifies a row.
    ON t.id = s.id AND t.region = s.region
-- A delete removes the row.
WHEN MATCHED AND s._scd_deleted THEN
    DELETE
-- A row with other values.
WHEN MATCHED
AND NOT s._scd_deleted
AND NOT (STRUCT(t.name, t.city, t.bucket) <=> STRUCT(s.name, s.city, s.bucket)) THEN
    UPDATE SET name = s.name, city = s.city, bucket = s.bucket
-- A new key.
WHEN NOT MATCHED AND NOT s._scd_deleted THEN
    INSERT (id, region, name, city, bucket)
    VALUES (s.id, s.region, s.name, s.city, s.bucket);
