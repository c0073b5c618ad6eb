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
        RPAD(CAST(name AS STRING), GREATEST(3, LENGTH(CAST(name AS STRING)))) AS name,
        CAST(town AS STRING) AS city,
        CAST(id % 3 AS INT) AS bucket,
        CAST(coalesce(started, happened) AS TIMESTAMP) AS _scd_at
    FROM source
),
extract AS (
    -- A row that breaks a rule stops the statement. EXPLODE: rows that the source leaves out are not tested.
    SELECT *
    FROM source_rows LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
    WHERE
        CASE
            WHEN id IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] crm.customer: id is NULL')
            WHEN _scd_at IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_TIME] crm.customer: effective_at is NULL')
            ELSE _scd_kept
        END
    UNION ALL
    -- An empty extract would close every version, so it stops the statement.
    SELECT
        RAISE_ERROR('[SCDGEN_EMPTY_SNAPSHOT] crm.customer: the snapshot is empty'),
        NULL, NULL, NULL, NULL, NULL, NULL
    WHERE NOT EXISTS (SELECT 1 FROM source_rows)
    DISTRIBUTE BY id -- one shuffle for the window and the join
),
ranked AS (
    -- The rows of each key, the newest first.
    SELECT
        *,
        STRUCT(region, name, bucket)
            <=> FIRST_VALUE(STRUCT(region, name, bucket)) OVER ties
            AS _scd_agrees,
        ROW_NUMBER() OVER by_key AS _scd_row
    FROM extract
    WINDOW
        by_key AS (PARTITION BY id ORDER BY _scd_at DESC),
        ties AS (
            PARTITION BY id ORDER BY _scd_at DESC
            RANGE BETWEEN CURRENT ROW AND CURRENT ROW
        )
),
snapshot AS (
    -- One row per key; two rows that contradict each other stop the statement.
    SELECT
        id,
        MAX_BY(region, STRUCT(_scd_at)) AS region,
        MAX_BY(name, STRUCT(_scd_at)) AS name,
        MIN(city) AS city,
        MAX_BY(bucket, STRUCT(_scd_at)) AS bucket,
        MAX(_scd_at) AS updated,
        MAX(_scd_at) AS _scd_time
    FROM ranked
    WHERE
        CASE
            WHEN _scd_agrees THEN TRUE
            ELSE RAISE_ERROR(
                '[SCDGEN_CONFLICT] crm.customer: two different rows of one key and time: '
                || TO_JSON(STRUCT(id, _scd_at))
            )
        END
    GROUP BY id
),
compared AS (
    -- Only keys that differ: missing from the extract, new, or changed.
    SELECT
        CASE
            WHEN o.id IS NULL THEN 'insert'
            WHEN n.id IS NULL THEN 'delete'
            ELSE 'update'
        END AS _scd_action,
        COUNT_IF(n.id IS NULL) OVER () AS _scd_closing,
        COALESCE(n.id, o.id) AS id,
        CASE WHEN o.id IS NULL THEN n.region ELSE CASE WHEN n._scd_time >= o.updated THEN n.region ELSE o.region END END AS region,
        CASE WHEN o.id IS NULL THEN n.name ELSE CASE WHEN n._scd_time >= o.updated THEN n.name ELSE o.name END END AS name,
        CASE WHEN o.id IS NULL THEN n.city ELSE LEAST(o.city, n.city) END AS city,
        CASE WHEN o.id IS NULL THEN n.bucket ELSE CASE WHEN n._scd_time >= o.updated THEN n.bucket ELSE o.bucket END END AS bucket,
        CASE WHEN o.id IS NULL THEN n.updated ELSE GREATEST(o.updated, n._scd_time) END AS updated
FROM snapshot AS n
    FULL OUTER JOIN (
        SELECT
            *,
            COALESCE(city = 'x', FALSE) AS _scd_in_scope
        FROM crm.customer AS t
    ) AS o
        ON n.id = o.id
    WHERE o.id IS NULL
        OR n.id IS NULL AND o._scd_in_scope
        OR n.id IS NOT NULL AND NOT (STRUCT(o.region, o.name, o.city, o.bucket, o.updated)
            <=> STRUCT(
                CASE WHEN n._scd_time >= o.updated THEN n.region ELSE o.region END AS region,
                CASE WHEN n._scd_time >= o.updated THEN n.name ELSE o.name END AS name,
                LEAST(o.city, n.city) AS city,
                CASE WHEN n._scd_time >= o.updated THEN n.bucket ELSE o.bucket END AS bucket,
                GREATEST(o.updated, n._scd_time) AS updated
            ))
),
staged AS (
    -- Rows to write; one that breaks a rule stops the statement.
    SELECT *
    FROM compared
    CROSS JOIN (
        SELECT COUNT(*) AS _scd_current
        FROM crm.customer AS t
        WHERE city = 'x'
    )
    WHERE
        CASE
            WHEN _scd_closing > 0.25 * _scd_current
                THEN RAISE_ERROR(
                    '[SCDGEN_MAX_DELETED] crm.customer: ' || _scd_closing
                    || IF(_scd_closing = 1, ' key', ' keys') || ' deleted ('
                    || ROUND(100 * _scd_closing / _scd_current, 1) || ' %; limit 25 %)'
                )
            ELSE TRUE
        END
)
SELECT
    COUNT_IF(_scd_action = 'insert') AS new,
    COUNT_IF(_scd_action = 'update') AS changed,
    COUNT_IF(_scd_action = 'delete') AS deleted,
    (SELECT COUNT(DISTINCT id) FROM extract) - COUNT_IF(_scd_action <> 'delete') AS unchanged
FROM staged