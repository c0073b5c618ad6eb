-- crm.customer: What {they} are: it's "so"
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
            CAST(name AS INT) AS name,
            CAST(town AS STRING) AS city,
            CAST(id % 3 AS INT) AS bucket,
            CAST(started AS INT) AS _scd_at,
            COALESCE(op = 'D', FALSE) AS _scd_deleted
        FROM source
    ),
    changes AS (
        -- A row that breaks a rule stops the statement. EXPLODE: rows that the source leaves out are not tested.
        SELECT *
        FROM source_rows LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
        WHERE
            CASE
                WHEN id IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] crm.customer: id is NULL')
                WHEN region IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] crm.customer: region is NULL')
                WHEN _scd_at IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_TIME] crm.customer: started is NULL')
                ELSE _scd_kept
            END
    ),
    ranked AS (
        -- The rows of each key, the newest first; what comes before a delete does not count.
        SELECT
            *,
            CASE WHEN NOT _scd_deleted THEN STRUCT(name, city) END
                <=> FIRST_VALUE(CASE WHEN NOT _scd_deleted THEN STRUCT(name, city) END) OVER ties
                AS _scd_agrees,
            COUNT_IF(_scd_deleted) OVER life AS _scd_life,
            ROW_NUMBER() OVER by_key AS _scd_row
        FROM changes
        WINDOW
            by_key AS (PARTITION BY id, region ORDER BY _scd_at DESC),
            ties AS (
                PARTITION BY id, region ORDER BY _scd_at DESC
                RANGE BETWEEN CURRENT ROW AND CURRENT ROW
            ),
            life AS (
                PARTITION BY id, region ORDER BY _scd_at DESC
                ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
            )
    ),
    latest AS (
        -- One row per key; two rows that contradict each other stop the statement.
        SELECT
            id, region,
            MAX_BY(name, STRUCT(_scd_at)) FILTER (WHERE _scd_life = 0) AS name,
            MAX_BY(city, STRUCT(_scd_at)) FILTER (WHERE _scd_life = 0) AS city,
            MAX(bucket) FILTER (WHERE _scd_life = 0) AS bucket,
            MAX(_scd_at) FILTER (WHERE _scd_life = 0) AS _scd_time,
            COUNT_IF(_scd_life = 0) = 0 AS _scd_deleted,
            BOOL_OR(_scd_deleted) AS _scd_anew,
            MAX(_scd_at) FILTER (WHERE _scd_deleted) AS _scd_deleted_at
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
-- A delete removes the row.
WHEN MATCHED AND s._scd_deleted AND s._scd_deleted_at >= t.name THEN
    DELETE
-- After a delete a key starts again: only what follows the delete counts.
WHEN MATCHED
AND s._scd_anew
AND NOT s._scd_deleted
AND s._scd_deleted_at >= t.name
AND NOT (STRUCT(t.name, t.city, t.bucket) <=> STRUCT(s.name, s.city, s.bucket)) THEN
    UPDATE SET name = s.name, city = s.city, bucket = s.bucket
-- The stored row and the batch are combined column by column.
WHEN MATCHED
AND NOT s._scd_deleted
AND NOT (STRUCT(t.name, t.city, t.bucket)
    <=> STRUCT(
        GREATEST(t.name, s._scd_time) AS name,
        CASE WHEN s._scd_time >= t.name THEN s.city ELSE t.city END AS city,
        GREATEST(t.bucket, s.bucket) AS bucket
    )) THEN
    UPDATE SET
        name = GREATEST(t.name, s._scd_time),
        city = CASE WHEN s._scd_time >= t.name THEN s.city ELSE t.city END,
        bucket = GREATEST(t.bucket, s.bucket)
-- A new key.
WHEN NOT MATCHED AND NOT s._scd_deleted THEN
    INSERT (id, region, name, city, bucket)
    VALUES (s.id, s.region, s.name, s.city, s.bucket);
