-- crm.customer
-- Keeps one row per key, column by column: the last, first, least or greatest value.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

MERGE INTO crm.customer AS t USING (
    WITH source_rows AS (
        -- The source's rows, with the target's column names and types.
        SELECT
            CAST(id AS INT) AS id,
            CAST(region AS STRING) AS region,
            CAST(name AS STRING) AS name,
            CAST(town AS STRING) AS city,
            CAST(id % 3 AS INT) AS bucket,
            CAST(happened AS TIMESTAMP) AS _scd_at
        FROM raw.rows
    ),
    changes AS (
        -- A row that breaks a rule stops the statement. EXPLODE: rows that the source leaves out are not tested.
        SELECT *
        FROM source_rows LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
        WHERE
            CASE
                WHEN id IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] crm.customer: id is NULL')
                WHEN region IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] crm.customer: region is NULL')
                WHEN _scd_at IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_TIME] crm.customer: happened is NULL')
                ELSE _scd_kept
            END
    ),
    ranked AS (
        -- The rows of each key, the newest first.
        SELECT
            *,
            STRUCT(name, city, bucket) <=> FIRST_VALUE(STRUCT(name, city, bucket)) OVER ties AS _scd_agrees,
            ROW_NUMBER() OVER by_key AS _scd_row
        FROM changes
        WINDOW
            by_key AS (PARTITION BY id, region ORDER BY _scd_at DESC),
            ties AS (
                PARTITION BY id, region ORDER BY _scd_at DESC
                RANGE BETWEEN CURRENT ROW AND CURRENT ROW
            )
    ),
    latest AS (
        -- One row per key; two rows that contradict each other stop the statement.
        SELECT
            id, region,
            MIN_BY(name, STRUCT(_scd_at)) AS name,
            MIN_BY(city, STRUCT(_scd_at)) AS city,
            MIN_BY(bucket, STRUCT(_scd_at)) AS bucket,
            MIN(_scd_at) AS updated,
            MIN(_scd_at) AS _scd_time
        FROM ranked
        WHERE
            CASE
                WHEN _scd_agrees THEN TRUE
                ELSE RAISE_ERROR(
                    '[SCDGEN_CONFLICT] crm.customer: two different rows of one key and time: '
                    || TO_JSON(STRUCT(id, region, _scd_at))
                )
            END
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
        CASE WHEN s._scd_time < t.updated THEN s.name ELSE t.name END AS name,
        CASE WHEN s._scd_time < t.updated THEN s.city ELSE t.city END AS city,
        CASE WHEN s._scd_time < t.updated THEN s.bucket ELSE t.bucket END AS bucket,
        LEAST(t.updated, s._scd_time) AS updated
    )) THEN
    UPDATE SET
        name = CASE WHEN s._scd_time < t.updated THEN s.name ELSE t.name END,
        city = CASE WHEN s._scd_time < t.updated THEN s.city ELSE t.city END,
        bucket = CASE WHEN s._scd_time < t.updated THEN s.bucket ELSE t.bucket END,
        updated = LEAST(t.updated, s._scd_time)
-- A new key.
WHEN NOT MATCHED THEN
    INSERT (id, region, name, city, bucket, updated)
    VALUES (s.id, s.region, s.name, s.city, s.bucket, s.updated);
