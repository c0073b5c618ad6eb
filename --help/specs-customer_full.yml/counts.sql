WITH source_rows AS (
    -- The source's rows, with the target's column names and types.
    SELECT
        CAST(customer_no AS STRING) AS customer_no,
        CAST(name AS STRING) AS name
    FROM crm.customer_extract
),
extract AS (
    -- A row that breaks a rule stops the statement. EXPLODE: rows that the source leaves out are not tested.
    SELECT *
    FROM source_rows LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
    WHERE
        CASE
            WHEN customer_no IS NULL
                THEN RAISE_ERROR('[SCDGEN_NULL_KEY] crm.customer_full: customer_no is NULL')
            ELSE _scd_kept
        END
    UNION ALL
    -- An empty extract would close every version, so it stops the statement.
    SELECT
        RAISE_ERROR('[SCDGEN_EMPTY_SNAPSHOT] crm.customer_full: the snapshot is empty'),
        NULL, NULL
    WHERE NOT EXISTS (SELECT 1 FROM source_rows)
    DISTRIBUTE BY customer_no -- one shuffle for the window and the join
),
ranked AS (
    -- Exact copies of a row count once.
    SELECT
        *,
        LAG(STRUCT(name)) OVER by_key AS _scd_before
    FROM extract
    WINDOW by_key AS (PARTITION BY customer_no ORDER BY customer_no)
),
snapshot AS (
    -- One row per key; two rows that contradict each other stop the statement.
    SELECT *
    FROM ranked
    WHERE
        CASE
            WHEN _scd_before IS NULL THEN TRUE
            WHEN _scd_before <=> STRUCT(name) THEN FALSE
            ELSE RAISE_ERROR(
                '[SCDGEN_CONFLICT] crm.customer_full: two different rows of one key: '
                || TO_JSON(STRUCT(customer_no))
            )
        END
),
stored AS (
    -- Open versions, and those that ended at the time of this extract or later, as when it is loaded again.
    SELECT
        t.customer_no, t.name,
        t.effective_ts AS _scd_from,
        NULLIF(t.expiry_ts, TIMESTAMP '9999-12-31 23:59:59.999') + INTERVAL '1' MILLISECOND AS _scd_until,
        ROW_NUMBER() OVER newest_first AS _scd_row
    FROM crm.customer_full AS t
    WHERE t.expiry_ts >= _scd_taken_at - INTERVAL '1' MILLISECOND
    WINDOW newest_first AS (PARTITION BY t.customer_no ORDER BY t.effective_ts DESC)
    DISTRIBUTE BY customer_no -- like the extract, for the join
),
compared AS (
    -- Only keys that differ: missing from the extract, new, changed, or back again.
    SELECT
        COALESCE(n.customer_no, o.customer_no) AS customer_no,
        n.name,
        _scd_taken_at AS _scd_at,
        o._scd_from, o._scd_until,
        CASE
            WHEN n.customer_no IS NULL THEN ARRAY('close')
            WHEN o.customer_no IS NULL THEN ARRAY('open')
            WHEN STRUCT(n.name) <=> STRUCT(o.name) THEN ARRAY('correct')
            WHEN o._scd_until IS NOT NULL THEN ARRAY('open')
            ELSE ARRAY('close', 'open')
        END AS _scd_actions
    FROM snapshot AS n
    FULL OUTER JOIN (SELECT * FROM stored WHERE _scd_row = 1) AS o
        ON n.customer_no = o.customer_no
    WHERE
        CASE
            WHEN n.customer_no IS NULL THEN o._scd_until IS NULL
            WHEN o.customer_no IS NULL OR o._scd_until IS NOT NULL THEN TRUE
            ELSE NOT (STRUCT(n.name) <=> STRUCT(o.name))
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
                    '[SCDGEN_TAKEN_AT] crm.customer_full: the snapshot is not newer than a version that it closes: '
                    || TO_JSON(STRUCT(customer_no, _scd_from))
                )
            ELSE TRUE
        END
),
staged AS (
    -- Rows to write, with their history columns.
    SELECT
        _scd_action,
        customer_no, name,
        _scd_start AS effective_ts,
        COALESCE(_scd_next - INTERVAL '1' MILLISECOND, TIMESTAMP '9999-12-31 23:59:59.999') AS expiry_ts,
        CASE WHEN _scd_next IS NULL THEN 1 ELSE 0 END AS is_current
    FROM versions
)
SELECT
    COUNT_IF(_scd_from IS NULL) AS new,
    COUNT_IF(NOT (_scd_actions = ARRAY('close')) AND _scd_from IS NOT NULL AND _scd_until IS NULL) AS changed,
    COUNT_IF(_scd_actions = ARRAY('close')) AS deleted,
    COUNT_IF(NOT (_scd_actions = ARRAY('close')) AND _scd_from IS NOT NULL AND NOT (_scd_from IS NOT NULL AND _scd_until IS NULL)) AS returned,
    (SELECT COUNT(DISTINCT customer_no) FROM extract) - COUNT_IF(NOT (_scd_actions = ARRAY('close'))) AS unchanged,
    COUNT_IF(ARRAY_CONTAINS(_scd_actions, 'open')) AS opened,
    COUNT_IF(ARRAY_CONTAINS(_scd_actions, 'close')) AS closed,
    COUNT_IF(ARRAY_CONTAINS(_scd_actions, 'correct')) AS corrected,
    COUNT_IF(ARRAY_CONTAINS(_scd_actions, 'fold')) AS folded
FROM compared