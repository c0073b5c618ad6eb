WITH source_rows AS (
    -- The source's rows, with the target's column names and types.
    SELECT
        CAST(id AS INT) AS id,
        CAST(src_a AS STRING) AS a,
        CAST(b AS INT) AS b,
        CAST(c AS STRING) AS c,
        CAST(id % 3 AS INT) AS bucket,
        lsn AS _scd_sequence_1
    FROM _scd_source
),
extract AS (
    -- A row that breaks a rule stops the statement. EXPLODE: rows that the source leaves out are not tested.
    SELECT *
    FROM source_rows LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
    WHERE
        CASE
            WHEN id IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] r.t82: id is NULL')
            ELSE _scd_kept
        END
    UNION ALL
    -- An empty extract would close every version, so it stops the statement.
    SELECT
        RAISE_ERROR('[SCDGEN_EMPTY_SNAPSHOT] r.t82: the snapshot is empty'),
        NULL, NULL, NULL, NULL, NULL, NULL
    WHERE NOT EXISTS (SELECT 1 FROM source_rows)
    DISTRIBUTE BY id -- one shuffle for the window and the join
),
ranked AS (
    -- Exact copies of a row count once; the row with the greatest sequence wins.
    SELECT
        *,
        RANK() OVER by_key > 1
            OR STRUCT(a, b, c, bucket) <=> FIRST_VALUE(STRUCT(a, b, c, bucket)) OVER by_key AS _scd_agrees,
        ROW_NUMBER() OVER by_key AS _scd_row
    FROM extract
    WINDOW by_key AS (PARTITION BY id ORDER BY _scd_sequence_1 DESC)
),
snapshot AS (
    -- One row per key; two rows that contradict each other stop the statement.
    SELECT *
    FROM ranked
    WHERE
        CASE
            WHEN _scd_row = 1 THEN TRUE
            WHEN _scd_agrees THEN FALSE
            ELSE RAISE_ERROR(
                '[SCDGEN_CONFLICT] r.t82: two different rows of one key: ' || TO_JSON(STRUCT(id))
            )
        END
),
stored AS (
    -- Open versions, and those that ended at the time of this extract or later, as when it is loaded again.
    SELECT
        t.id, t.a, t.b, t.c, t.bucket,
        t.begins AS _scd_from,
        NULLIF(t.ends, TIMESTAMP '9999-12-31 23:59:59.999') + INTERVAL '1' DAY AS _scd_until,
        ROW_NUMBER() OVER newest_first AS _scd_row
    FROM r.t82 AS t
    WHERE t.ends >= _scd_taken_at - INTERVAL '1' DAY
    WINDOW newest_first AS (PARTITION BY t.id ORDER BY t.begins DESC)
    DISTRIBUTE BY id -- like the extract, for the join
),
compared AS (
    -- Only keys that differ: missing from the extract, new, changed, or back again.
    SELECT
        COALESCE(n.id, o.id) AS id,
        CASE WHEN o._scd_until IS NULL THEN COALESCE(n.a, o.a) ELSE n.a END AS a,
        n.b, n.c, n.bucket,
        _scd_taken_at AS _scd_at,
        o._scd_from, o._scd_until,
        CASE
            WHEN n.id IS NULL THEN ARRAY('close')
            WHEN o.id IS NULL THEN ARRAY('open')
            WHEN STRUCT(COALESCE(n.a, CASE WHEN o._scd_until IS NULL THEN o.a END) AS a, n.b, n.c)
                <=> STRUCT(o.a, o.b, o.c)
                THEN ARRAY('correct')
            WHEN o._scd_until IS NOT NULL THEN ARRAY('open')
            ELSE ARRAY('close', 'open')
        END AS _scd_actions
    FROM snapshot AS n
    FULL OUTER JOIN (SELECT * FROM stored WHERE _scd_row = 1) AS o
        ON n.id = o.id
    WHERE
        CASE
            WHEN n.id IS NULL THEN o._scd_until IS NULL
            WHEN o.id IS NULL OR o._scd_until IS NOT NULL THEN TRUE
            ELSE NOT (STRUCT(
                COALESCE(n.a, CASE WHEN o._scd_until IS NULL THEN o.a END) AS a, n.b, n.c, n.bucket
            )
                <=> STRUCT(o.a, o.b, o.c, o.bucket))
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
                    '[SCDGEN_TAKEN_AT] r.t82: the snapshot is not newer than a version that it closes: '
                    || TO_JSON(STRUCT(id, _scd_from))
                )
            ELSE TRUE
        END
),
staged AS (
    -- Rows to write, with their history columns.
    SELECT
        _scd_action,
        id, a, b, c, bucket,
        _scd_start AS begins,
        COALESCE(_scd_next - INTERVAL '1' DAY, TIMESTAMP '9999-12-31 23:59:59.999') AS ends,
        CASE WHEN _scd_next IS NULL THEN 1 ELSE 0 END AS is_current,
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