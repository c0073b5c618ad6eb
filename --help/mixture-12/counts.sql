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
extract AS (
    -- A row that breaks a rule stops the statement. EXPLODE: rows that the source leaves out are not tested.
    SELECT *
    FROM source_rows LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
    WHERE
        CASE
            WHEN id IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] crm.`odd ``name`: id is NULL')
            WHEN region IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] crm.`odd ``name`: region is NULL')
            WHEN _scd_at IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_TIME] crm.`odd ``name`: happened is NULL')
            ELSE _scd_kept
        END
    UNION ALL
    -- An empty extract would close every version, so it stops the statement.
    SELECT
        RAISE_ERROR('[SCDGEN_EMPTY_SNAPSHOT] crm.`odd ``name`: the snapshot is empty'),
        NULL, NULL, NULL, NULL, NULL, NULL
    WHERE NOT EXISTS (SELECT 1 FROM source_rows)
    DISTRIBUTE BY id, region -- one shuffle for the window and the join
),
ranked AS (
    -- The rows of each key, the newest first.
    SELECT
        *,
        STRUCT(name, bucket) <=> FIRST_VALUE(STRUCT(name, bucket)) OVER ties AS _scd_agrees,
        ROW_NUMBER() OVER by_key AS _scd_row
    FROM extract
    WINDOW
        by_key AS (PARTITION BY id, region ORDER BY _scd_at DESC),
        ties AS (
            PARTITION BY id, region ORDER BY _scd_at DESC
            RANGE BETWEEN CURRENT ROW AND CURRENT ROW
        )
),
snapshot AS (
    -- One row per key; two rows that contradict each other stop the statement.
    SELECT
        id, region,
        MAX_BY(name, STRUCT(_scd_at)) AS name,
        MIN(city) AS city,
        MAX_BY(bucket, STRUCT(_scd_at)) AS bucket,
        MAX(_scd_at) AS changed_at,
        MAX(_scd_at) AS _scd_time
    FROM ranked
    WHERE
        CASE
            WHEN _scd_agrees THEN TRUE
            ELSE RAISE_ERROR(
                '[SCDGEN_CONFLICT] crm.`odd ``name`: two different rows of one key and time: '
                || TO_JSON(STRUCT(id, region, _scd_at))
            )
        END
    GROUP BY id, region
),
compared AS (
    -- Only keys that differ: missing from the extract, new, or changed.
    SELECT
        CASE
            WHEN o.id IS NULL THEN 'insert'
            WHEN n.id IS NULL THEN 'delete'
            ELSE 'update'
        END AS _scd_action,
        COALESCE(n.id, o.id) AS id,
        COALESCE(n.region, o.region) AS region,
        CASE WHEN o.id IS NULL THEN n.name ELSE CASE WHEN n._scd_time >= o.changed_at THEN n.name ELSE o.name END END AS name,
        CASE WHEN o.id IS NULL THEN n.city ELSE LEAST(o.city, n.city) END AS city,
        CASE WHEN o.id IS NULL THEN n.bucket ELSE CASE WHEN n._scd_time >= o.changed_at THEN n.bucket ELSE o.bucket END END AS bucket,
        CASE WHEN o.id IS NULL THEN n.changed_at ELSE GREATEST(o.changed_at, n._scd_time) END AS changed_at
FROM snapshot AS n
    FULL OUTER JOIN crm.`odd ``name` AS o
        ON n.id = o.id
        AND n.region = o.region
    WHERE o.id IS NULL
        OR n.id IS NULL
        OR n.id IS NOT NULL AND NOT (STRUCT(o.name, o.city, o.bucket, o.changed_at)
            <=> STRUCT(
                CASE WHEN n._scd_time >= o.changed_at THEN n.name ELSE o.name END AS name,
                LEAST(o.city, n.city) AS city,
                CASE WHEN n._scd_time >= o.changed_at THEN n.bucket ELSE o.bucket END AS bucket,
                GREATEST(o.changed_at, n._scd_time) AS changed_at
            ))
),
staged AS (
    -- Rows to write.
    SELECT *
    FROM compared
)
SELECT
    COUNT_IF(_scd_action = 'insert') AS new,
    COUNT_IF(_scd_action = 'update') AS changed,
    COUNT_IF(_scd_action = 'delete') AS deleted,
    (SELECT COUNT(DISTINCT id, region) FROM extract) - COUNT_IF(_scd_action <> 'delete') AS unchanged
FROM staged