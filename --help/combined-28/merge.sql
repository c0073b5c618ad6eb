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
            CAST(happened AS TIMESTAMP) AS _scd_at,
            ARRAY_SORT(TRANSFORM(CAST(parts AS ARRAY<STRING>), name -> LOWER(name))) AS _scd_sets,
            COALESCE(op = 'T', FALSE) AS _scd_truncates,
            FALSE AS _scd_deleted,
            lsn AS _scd_sequence_1
        FROM raw.rows
    ),
    changes AS (
        -- A row that breaks a rule stops the statement. EXPLODE: rows that the source leaves out are not tested.
        SELECT *
        FROM source_rows LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
        WHERE
            CASE
                WHEN id IS NULL AND NOT _scd_truncates
                    THEN RAISE_ERROR('[SCDGEN_NULL_KEY] crm.customer: id is NULL')
                WHEN region IS NULL AND NOT _scd_truncates
                    THEN RAISE_ERROR('[SCDGEN_NULL_KEY] crm.customer: region is NULL')
                WHEN SIZE(ARRAY_EXCEPT(_scd_sets, ARRAY('id', 'region', 'name', 'city', 'bucket'))) > 0
                    THEN RAISE_ERROR(
                        '[SCDGEN_UNKNOWN_COLUMN] crm.customer: source.sets names a column that the spec does not have'
                    )
                WHEN _scd_at IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_TIME] crm.customer: happened is NULL')
                ELSE _scd_kept
            END
    ),
    emptied AS (
        -- When the table was last emptied; NULL if the batch does not empty it.
        SELECT MAX(CASE WHEN _scd_truncates THEN STRUCT(_scd_at, _scd_sequence_1) END) AS _scd_emptied
        FROM changes
    ),
    remaining AS (
        -- Rows that come before are left out, and each stored key has a delete of that time.
        SELECT
            id, region, name, city, bucket, _scd_sets, _scd_at, _scd_sequence_1, _scd_deleted
        FROM changes
        CROSS JOIN emptied
        WHERE
            CASE
                WHEN _scd_emptied IS NULL OR STRUCT(_scd_at, _scd_sequence_1) > _scd_emptied THEN TRUE
                ELSE FALSE
            END
        UNION ALL
        SELECT
            t.id, t.region, NULL, NULL, NULL, NULL, _scd_emptied._scd_at, _scd_emptied._scd_sequence_1, TRUE
        FROM crm.customer AS t
        CROSS JOIN emptied
        WHERE _scd_emptied IS NOT NULL
    ),
    ranked AS (
        -- The rows of each key, the newest first; what comes before a delete does not count.
        SELECT
            *,
            COUNT_IF(_scd_deleted) OVER life AS _scd_life,
            ROW_NUMBER() OVER by_key AS _scd_row
        FROM remaining
        WINDOW
            by_key AS (PARTITION BY id, region ORDER BY _scd_at DESC, _scd_sequence_1 DESC, _scd_deleted DESC, STRUCT(name, city, bucket)),
            life AS (
                PARTITION BY id, region ORDER BY _scd_at DESC, _scd_sequence_1 DESC, _scd_deleted DESC, STRUCT(name, city, bucket)
                ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
            )
    ),
    latest AS (
        -- One row per key.
        SELECT
            id, region,
            MIN_BY(name, STRUCT(_scd_at, _scd_sequence_1, STRUCT(name, city, bucket, _scd_sets)))
                FILTER (WHERE _scd_life = 0 AND ARRAY_CONTAINS(_scd_sets, 'name') IS NOT FALSE)
                AS name,
            MAX_BY(city, STRUCT(_scd_at, _scd_sequence_1, STRUCT(name, city, bucket, _scd_sets)))
                FILTER (WHERE _scd_life = 0 AND ARRAY_CONTAINS(_scd_sets, 'city') IS NOT FALSE)
                AS city,
            MAX_BY(bucket, STRUCT(_scd_at, _scd_sequence_1, STRUCT(name, city, bucket, _scd_sets))) FILTER (WHERE _scd_life = 0) AS bucket,
            STRUCT(
                MAX(_scd_at)
                    FILTER (WHERE _scd_life = 0 AND ARRAY_CONTAINS(_scd_sets, 'name') IS NOT FALSE)
                    AS name,
                MAX(_scd_at)
                    FILTER (WHERE _scd_life = 0 AND ARRAY_CONTAINS(_scd_sets, 'city') IS NOT FALSE)
                    AS city
            ) AS _scd_given,
            MAX(_scd_at) FILTER (WHERE _scd_life = 0) AS updated,
            MAX(_scd_at) FILTER (WHERE _scd_life = 0) AS _scd_time,
            COUNT_IF(_scd_life = 0) = 0 AS _scd_deleted,
            BOOL_OR(_scd_deleted) AS _scd_anew,
            MAX(_scd_at) FILTER (WHERE _scd_deleted) AS _scd_deleted_at
        FROM ranked
        GROUP BY id, region
    )
    SELECT * FROM latest
) AS s
    -- A key identifies a row.
    ON t.id = s.id AND t.region = s.region
-- A delete removes the row.
WHEN MATCHED AND s._scd_deleted AND s._scd_deleted_at >= t.updated THEN
    DELETE
-- After a delete a key starts again: only what follows the delete counts.
WHEN MATCHED
AND s._scd_anew
AND NOT s._scd_deleted
AND s._scd_deleted_at >= t.updated
AND NOT (STRUCT(t.name, t.city, t.bucket, t.updated)
    <=> STRUCT(s.name, s.city, s.bucket, s.updated)) THEN
    UPDATE SET name = s.name, city = s.city, bucket = s.bucket, updated = s.updated
-- The stored row and the batch are combined column by column.
WHEN MATCHED
AND NOT s._scd_deleted
AND NOT (STRUCT(t.name, t.city, t.bucket, t.updated)
    <=> STRUCT(
        t.name, CASE WHEN s._scd_given.city >= t.updated THEN s.city ELSE t.city END AS city,
        CASE WHEN s._scd_time >= t.updated THEN s.bucket ELSE t.bucket END AS bucket,
        GREATEST(t.updated, s._scd_time) AS updated
    )) THEN
    UPDATE SET
        name = t.name,
        city = CASE WHEN s._scd_given.city >= t.updated THEN s.city ELSE t.city END,
        bucket = CASE WHEN s._scd_time >= t.updated THEN s.bucket ELSE t.bucket END,
        updated = GREATEST(t.updated, s._scd_time)
-- A new key.
WHEN NOT MATCHED AND NOT s._scd_deleted THEN
    INSERT (id, region, name, city, bucket, updated)
    VALUES (s.id, s.region, s.name, s.city, s.bucket, s.updated);
