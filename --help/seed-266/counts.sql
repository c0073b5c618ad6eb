WITH source_rows AS (
    -- The source's rows, with the target's column names and types.
    SELECT
        CAST(id AS INT) AS id,
        CAST(src_a AS STRING) AS a,
        CAST(b AS INT) AS b,
        CAST(c AS STRING) AS c
    FROM _scd_source
    WHERE (b IS NULL OR b >= session.least)
),
extract AS (
    -- A row without a key is left out.
    SELECT *
    FROM source_rows
    WHERE NOT (id IS NULL)
    UNION ALL
    -- An empty extract would close every version, so it stops the statement.
    SELECT
        RAISE_ERROR('[SCDGEN_EMPTY_SNAPSHOT] r.t266: the snapshot is empty'),
        NULL, NULL, NULL
    WHERE NOT EXISTS (SELECT 1 FROM source_rows WHERE NOT (id IS NULL))
    DISTRIBUTE BY id -- one shuffle for the window and the join
),
ranked AS (
    -- Exact copies of a row count once.
    SELECT
        *,
        LAG(STRUCT(a, b, c)) OVER by_key AS _scd_before
    FROM extract
    WINDOW by_key AS (PARTITION BY id ORDER BY id)
),
snapshot AS (
    -- One row per key; two rows that contradict each other stop the statement.
    SELECT *
    FROM ranked
    WHERE
        CASE
            WHEN _scd_before IS NULL THEN TRUE
            WHEN _scd_before <=> STRUCT(a, b, c) THEN FALSE
            ELSE RAISE_ERROR(
                '[SCDGEN_CONFLICT] r.t266: two different rows of one key: ' || TO_JSON(STRUCT(id))
            )
        END
),
stored AS (
    -- Open versions, and those that ended at the time of this extract or later, as when it is loaded again.
    SELECT
        t.id, t.a, t.b, t.c,
        t.begins AS _scd_from,
        CASE WHEN NOT (t.current_flag = 'Y') THEN t.ends END AS _scd_until,
        COALESCE(id < 70, FALSE) AS _scd_in_scope,
        ROW_NUMBER() OVER newest_first AS _scd_row
    FROM r.t266 AS t
    WHERE (t.current_flag = 'Y' OR t.ends >= _scd_taken_at)
    WINDOW newest_first AS (PARTITION BY t.id ORDER BY t.begins DESC)
    DISTRIBUTE BY id -- like the extract, for the join
),
compared AS (
    -- Only keys that differ: missing from the extract, new, changed, or back again.
    SELECT
        COALESCE(n.id, o.id) AS id,
        n.a, n.b, n.c,
        _scd_taken_at AS _scd_at,
        o._scd_from, o._scd_until,
        CASE
            WHEN n.id IS NULL THEN ARRAY('close')
            WHEN o.id IS NULL THEN ARRAY('open')
            WHEN o._scd_until IS NOT NULL THEN ARRAY('open')
            ELSE ARRAY('close', 'open')
        END AS _scd_actions
    FROM snapshot AS n
    FULL OUTER JOIN (SELECT * FROM stored WHERE _scd_row = 1) AS o
        ON n.id = o.id
    WHERE
        CASE
            WHEN n.id IS NULL THEN o._scd_until IS NULL AND o._scd_in_scope
            WHEN o.id IS NULL OR o._scd_until IS NOT NULL THEN TRUE
            ELSE NOT (_scd_taken_at <= o._scd_from AND STRUCT(n.a = 'x' AS a, n.b, n.c) <=> STRUCT(o.a = 'x' AS a, o.b, o.c))
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
                    '[SCDGEN_TAKEN_AT] r.t266: the snapshot is not newer than a version that it closes: '
                    || TO_JSON(STRUCT(id, _scd_from))
                )
            ELSE TRUE
        END
),
staged AS (
    -- Rows to write, with their history columns.
    SELECT
        _scd_action,
        id, a, b, c,
        SHA2(TO_JSON(ARRAY(CAST(id AS STRING), CAST(UNIX_MICROS(_scd_start) AS STRING))), 256) AS the_surrogate_key,
        _scd_start AS begins,
        COALESCE(_scd_next, _scd_last_run) AS ends,
        CASE WHEN _scd_next IS NULL THEN 'Y' ELSE 'N' END AS current_flag,
        SHA2(TO_JSON(STRUCT(a, CAST(b AS STRING) AS b, c), MAP('ignoreNullFields', 'true')), 256) AS the_row_hash
    FROM versions
)
SELECT
    COUNT_IF(_scd_from IS NULL) AS new,
    COUNT_IF(NOT (_scd_actions = ARRAY('close')) AND _scd_from IS NOT NULL AND _scd_until IS NULL) AS changed,
    COUNT_IF(_scd_actions = ARRAY('close')) AS deleted,
    COUNT_IF(NOT (_scd_actions = ARRAY('close')) AND _scd_from IS NOT NULL AND NOT (_scd_from IS NOT NULL AND _scd_until IS NULL)) AS returned,
    (SELECT COUNT(DISTINCT id) FROM extract) - COUNT_IF(NOT (_scd_actions = ARRAY('close'))) AS unchanged,
    COUNT_IF(ARRAY_CONTAINS(_scd_actions, 'open')) AS opened,
    COUNT_IF(ARRAY_CONTAINS(_scd_actions, 'close')) AS closed,
    COUNT_IF(ARRAY_CONTAINS(_scd_actions, 'correct')) AS corrected,
    COUNT_IF(ARRAY_CONTAINS(_scd_actions, 'fold')) AS folded
FROM compared