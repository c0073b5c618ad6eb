WITH source_rows AS (
    -- The source's rows, with the target's column names and types.
    SELECT
        CAST(id AS INT) AS id,
        CAST(region AS STRING) AS region,
        CAST(name AS STRING) AS name,
        CAST(town AS STRING) AS city,
        CAST(id % 3 AS INT) AS bucket
    FROM raw.rows
),
extract AS (
    -- A row that breaks a rule stops the statement. EXPLODE: rows that the source leaves out are not tested.
    SELECT *
    FROM source_rows LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
    WHERE
        CASE
            WHEN id IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] crm.customer: id is NULL')
            WHEN region IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] crm.customer: region is NULL')
            WHEN id = 0 AND region = 'none'
                THEN RAISE_ERROR('[SCDGEN_RESERVED_KEY] crm.customer: a row has the reserved key')
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
    SELECT *
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
stored AS (
    -- Open versions, and those that ended at the time of this extract or later, as when it is loaded again.
    SELECT
        t.id, t.region, t.name, t.city, t.bucket,
        t.valid_from AS _scd_from,
        t.valid_to AS _scd_until,
        COALESCE(NOT (id = 0 AND region = 'none'), FALSE) AS _scd_in_scope,
        ROW_NUMBER() OVER newest_first AS _scd_row
    FROM crm.customer AS t
    WHERE (t.valid_to IS NULL OR t.valid_to >= _scd_taken_at)
    WINDOW newest_first AS (PARTITION BY t.id, t.region ORDER BY t.valid_from DESC)
    DISTRIBUTE BY id, region -- like the extract, for the join
),
compared AS (
    -- Only keys that differ: missing from the extract, new, changed, or back again.
    SELECT
        COALESCE(n.id, o.id) AS id,
        COALESCE(n.region, o.region) AS region,
        n.name, n.city, n.bucket,
        _scd_taken_at AS _scd_at,
        o._scd_from, o._scd_until,
        CASE
            WHEN n.id IS NULL THEN ARRAY('close')
            WHEN o.id IS NULL THEN ARRAY('open')
            WHEN STRUCT(n.name, n.city, n.bucket) <=> STRUCT(o.name, o.city, o.bucket) THEN ARRAY('correct')
            WHEN o._scd_until IS NOT NULL THEN ARRAY('open')
            ELSE ARRAY('close', 'open')
        END AS _scd_actions
    FROM snapshot AS n
    FULL OUTER JOIN (SELECT * FROM stored WHERE _scd_row = 1) AS o
        ON n.id = o.id
        AND n.region = o.region
    WHERE
        CASE
            WHEN n.id IS NULL THEN o._scd_until IS NULL AND o._scd_in_scope
            WHEN o.id IS NULL OR o._scd_until IS NOT NULL THEN TRUE
            ELSE NOT (STRUCT(n.name, n.city, n.bucket) <=> STRUCT(o.name, o.city, o.bucket))
        END
),
versions AS (
    -- A changed key closes a version and opens another. Closing one that is too new stops the run.
    SELECT
        *,
        CASE WHEN _scd_action = 'open' THEN GREATEST(_scd_at, _scd_until) ELSE _scd_from END AS _scd_start,
        CASE WHEN _scd_action = 'close' THEN _scd_at END AS _scd_next
    FROM compared
        LATERAL VIEW EXPLODE(_scd_actions) p AS _scd_action
    WHERE
        CASE
            WHEN _scd_action = 'close' AND _scd_at <= _scd_from
                THEN RAISE_ERROR(
                    '[SCDGEN_TAKEN_AT] crm.customer: the snapshot is not newer than a version that it closes: '
                    || TO_JSON(STRUCT(id, region, _scd_from))
                )
            ELSE TRUE
        END
),
staged AS (
    -- Rows to write, with their history columns.
    SELECT
        _scd_action,
        id, region, name, city, bucket,
        _scd_start AS valid_from,
        _scd_next AS valid_to,
        _scd_next IS NULL AS is_current
    FROM versions
)
SELECT
    COUNT_IF(_scd_from IS NULL) AS new,
    COUNT_IF(NOT (_scd_actions = ARRAY('close')) AND _scd_from IS NOT NULL AND _scd_until IS NULL) AS changed,
    COUNT_IF(_scd_actions = ARRAY('close')) AS deleted,
    COUNT_IF(NOT (_scd_actions = ARRAY('close')) AND _scd_from IS NOT NULL AND NOT (_scd_from IS NOT NULL AND _scd_until IS NULL)) AS returned,
    (SELECT COUNT(DISTINCT id, region) FROM extract) - COUNT_IF(NOT (_scd_actions = ARRAY('close'))) AS unchanged,
    COUNT_IF(ARRAY_CONTAINS(_scd_actions, 'open')) AS opened,
    COUNT_IF(ARRAY_CONTAINS(_scd_actions, 'close')) AS closed,
    COUNT_IF(ARRAY_CONTAINS(_scd_actions, 'correct')) AS corrected,
    COUNT_IF(ARRAY_CONTAINS(_scd_actions, 'fold')) AS folded
FROM compared