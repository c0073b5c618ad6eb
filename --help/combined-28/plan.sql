-- crm.customer
-- Shows what merge.sql would do: how much, then some of its rows. Writes nothing.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- A row per row that the MERGE would write or remove: _scd_old is what is stored, _scd_new what it becomes.
-- And one per key of the source that needs nothing. The steps up to "latest" are those of merge.sql.
CREATE OR REPLACE TEMPORARY VIEW _scd_plan AS
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
SELECT
    CASE
        WHEN t.id IS NOT NULL
            AND s._scd_deleted
            AND s._scd_deleted_at >= t.updated THEN 'deleted'
        WHEN t.id IS NOT NULL
            AND s._scd_anew
            AND NOT s._scd_deleted
            AND s._scd_deleted_at >= t.updated
            AND NOT (
                STRUCT(t.name, t.city, t.bucket, t.updated)
                    <=> STRUCT(s.name, s.city, s.bucket, s.updated)
            ) THEN 'changed'
        WHEN t.id IS NOT NULL
            AND NOT s._scd_deleted
            AND NOT (
                STRUCT(t.name, t.city, t.bucket, t.updated)
                    <=> STRUCT(
                        t.name, CASE WHEN s._scd_given.city >= t.updated THEN s.city ELSE t.city END AS city,
                        CASE WHEN s._scd_time >= t.updated THEN s.bucket ELSE t.bucket END AS bucket,
                        GREATEST(t.updated, s._scd_time) AS updated
                    )
            ) THEN 'changed'
        WHEN t.id IS NULL
            AND NOT s._scd_deleted THEN 'new'
        ELSE 'unchanged'
    END AS _scd_action,
    s.id,
    s.region,
    IF(
        t.id IS NOT NULL,
        STRUCT(t.id, t.region, t.name, t.city, t.bucket, t.updated),
        NULL
    ) AS _scd_old,
    IF(
        NOT s._scd_deleted,
        STRUCT(
            s.id, s.region,
            CASE
                WHEN t.id IS NULL OR (s._scd_anew AND s._scd_deleted_at >= t.updated) THEN s.name
                ELSE t.name
            END AS name,
            CASE
                WHEN t.id IS NULL OR (s._scd_anew AND s._scd_deleted_at >= t.updated) THEN s.city
                ELSE CASE WHEN s._scd_given.city >= t.updated THEN s.city ELSE t.city END
            END AS city,
            CASE
                WHEN t.id IS NULL OR (s._scd_anew AND s._scd_deleted_at >= t.updated) THEN s.bucket
                ELSE CASE WHEN s._scd_time >= t.updated THEN s.bucket ELSE t.bucket END
            END AS bucket,
            CASE
                WHEN t.id IS NULL OR (s._scd_anew AND s._scd_deleted_at >= t.updated) THEN s.updated
                ELSE GREATEST(t.updated, s._scd_time)
            END AS updated
        ),
        NULL
    ) AS _scd_new,
    -- It is older than the stored row of its key.
    COALESCE(s._scd_time < t.updated, FALSE) AS _scd_late
FROM latest AS s
LEFT JOIN crm.customer AS t
    ON t.id = s.id AND t.region = s.region;

-- Counts: what happens to the keys, and the keys that are there now.
SELECT
    *,
    ROUND(100 * deleted / NULLIF(current_keys, 0), 1) AS deleted_percent
FROM (
    SELECT
        COUNT_IF(_scd_action = 'new') AS new,
        COUNT_IF(_scd_action = 'changed') AS changed,
        COUNT_IF(_scd_action = 'deleted') AS deleted,
        COUNT_IF(_scd_action = 'unchanged') AS unchanged,
        COUNT_IF(_scd_late AND _scd_action <> 'unchanged') AS late,
        COUNT_IF(_scd_action = 'deleted') AS closed_keys,
        (
            SELECT COUNT(*)
            FROM crm.customer
        ) AS current_keys
    FROM _scd_plan
);

-- Some rows of each action; a value that would change is shown as `old -> new`.
SELECT
    _scd_action AS change,
    CONCAT_WS(', ', CASE WHEN _scd_late THEN 'late' END) AS note,
    id,
    region,
    ARRAY_JOIN(
        ARRAY_DISTINCT(ARRAY(_scd_old.name, _scd_new.name)),
        ' -> ', 'NULL'
    ) AS name,
    ARRAY_JOIN(
        ARRAY_DISTINCT(ARRAY(_scd_old.city, _scd_new.city)),
        ' -> ', 'NULL'
    ) AS city,
    ARRAY_JOIN(
        ARRAY_DISTINCT(ARRAY(CAST(_scd_old.bucket AS STRING), CAST(_scd_new.bucket AS STRING))),
        ' -> ', 'NULL'
    ) AS bucket,
    ARRAY_JOIN(
        ARRAY_DISTINCT(ARRAY(CAST(_scd_old.updated AS STRING), CAST(_scd_new.updated AS STRING))),
        ' -> ', 'NULL'
    ) AS updated
FROM (
    SELECT
        _scd_action, _scd_late, id, region,
        COALESCE(_scd_old, _scd_new) AS _scd_old,
        COALESCE(_scd_new, _scd_old) AS _scd_new,
        ROW_NUMBER() OVER (PARTITION BY _scd_action ORDER BY id, region) AS _scd_row
    FROM _scd_plan
    WHERE _scd_action <> 'unchanged'
)
WHERE _scd_row <= 5
ORDER BY id, region, _scd_action;
