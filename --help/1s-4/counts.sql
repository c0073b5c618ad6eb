WITH source AS (
    SELECT *
    FROM raw.rows
    WHERE x > 1
),
source_rows AS (
    -- The source's rows, with the target's column names and types.
    SELECT
        CAST(id AS INT) AS id,
        CAST(region AS STRING) AS region,
        CAST(name AS STRING) AS name,
        CAST(town AS STRING) AS city,
        CAST(id % 3 AS INT) AS bucket
    FROM source
),
extract AS (
    -- A row that breaks a rule stops the statement. EXPLODE: rows that the source leaves out are not tested.
    SELECT *
    FROM source_rows LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
    WHERE
        CASE
            WHEN id IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] crm.customer: id is NULL')
            WHEN region IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] crm.customer: region is NULL')
            ELSE _scd_kept
        END
    UNION ALL
    -- An empty extract would close every version, so it stops the statement.
    SELECT
        RAISE_ERROR('[SCDGEN_EMPTY_SNAPSHOT] crm.customer: the snapshot is empty'),
        NULL, NULL, NULL, NULL, NULL
    WHERE NOT EXISTS (SELECT 1 FROM source_rows)
    DISTRIBUTE BY id, region -- one shuffle for the window and the join
),
ranked AS (
    -- Exact copies of a row count once.
    SELECT
        *,
        LAG(STRUCT(name, city, bucket)) OVER by_key AS _scd_before
    FROM extract
    WINDOW by_key AS (PARTITION BY id, region ORDER BY id, region)
),
snapshot AS (
    -- One row per key; two rows that contradict each other stop the statement.
    SELECT
        id, region, name, city, bucket
    FROM ranked
    WHERE
        CASE
            WHEN _scd_before IS NULL THEN TRUE
            WHEN _scd_before <=> STRUCT(name, city, bucket) THEN FALSE
            ELSE RAISE_ERROR(
                '[SCDGEN_CONFLICT] crm.customer: two different rows of one key: '
                || TO_JSON(STRUCT(id, region))
            )
        END
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
        n.name, n.city, n.bucket
FROM snapshot AS n
    FULL OUTER JOIN crm.customer AS o
        ON n.id = o.id
        AND n.region = o.region
    WHERE o.id IS NULL
        OR n.id IS NULL
        OR n.id IS NOT NULL AND NOT (STRUCT(o.name, o.city, o.bucket) <=> STRUCT(n.name, n.city, n.bucket))
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