WITH source_rows AS (
    -- The source's rows, with the target's column names and types.
    SELECT
        CAST(id AS INT) AS id,
        CAST(src_a AS STRING) AS a,
        CAST(b AS INT) AS b,
        CAST(c AS STRING) AS c,
        CAST(happened AS TIMESTAMP) AS _scd_at
    FROM incoming_66
    WHERE (b IS NULL OR b >= session.least)
),
extract AS (
    -- A row that breaks a rule stops the statement. EXPLODE: rows that the source leaves out are not tested.
    -- A row without a key or a time is left out.
    SELECT *
    FROM source_rows LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
    WHERE
        CASE
            WHEN id IS NULL OR _scd_at IS NULL THEN FALSE
            WHEN _scd_at - INTERVAL '1' MILLISECOND >= _scd_batch_from THEN _scd_kept
            ELSE RAISE_ERROR('[SCDGEN_SOURCE_CHANGED] r.t66: the source changed during the run')
        END
    DISTRIBUTE BY id -- one shuffle for the window and the join
),
ranked AS (
    -- Exact copies of a row count once.
    SELECT
        *,
        LAG(STRUCT(a, b, c, _scd_at)) OVER by_key AS _scd_before
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
            WHEN _scd_before <=> STRUCT(a, b, c, _scd_at) THEN FALSE
            ELSE RAISE_ERROR(
                '[SCDGEN_CONFLICT] r.t66: two different rows of one key: ' || TO_JSON(STRUCT(id))
            )
        END
),
stored AS (
    -- Open versions, and those that ended at the time of this extract or later, as when it is loaded again.
    SELECT
        t.id, t.a, t.b, t.c,
        t.begins AS _scd_from,
        CASE WHEN NOT (t.current_flag = 'Y') THEN t.ends + INTERVAL '1' MILLISECOND END AS _scd_until,
        COALESCE(t.is_deleted, FALSE) AS _scd_was_deleted,
        ROW_NUMBER() OVER newest_first AS _scd_row
    FROM r.t66 AS t
    WHERE (t.current_flag = 'Y' OR t.ends >= _scd_batch_from)
    WINDOW newest_first AS (PARTITION BY t.id ORDER BY t.begins DESC)
    DISTRIBUTE BY id -- like the extract, for the join
),
compared AS (
    -- Only keys that differ: missing from the extract, new, changed, or back again.
    SELECT
        COALESCE(n.id, o.id) AS id,
        CASE WHEN n.id IS NULL THEN o.a ELSE n.a END AS a,
        CASE WHEN n.id IS NULL THEN o.b ELSE n.b END AS b,
        CASE WHEN n.id IS NULL THEN o.c WHEN o._scd_until IS NULL AND NOT o._scd_was_deleted THEN COALESCE(n.c, o.c) ELSE n.c END AS c,
        CASE
            WHEN o._scd_was_deleted AND n._scd_at <= o._scd_from THEN _scd_taken_at
            ELSE COALESCE(n._scd_at, _scd_taken_at)
        END AS _scd_at,
        o._scd_from, o._scd_until,
        o._scd_was_deleted,
        n.id IS NULL AS _scd_gone,
        CASE
            WHEN n.id IS NULL THEN ARRAY('close', 'open')
            WHEN o.id IS NULL OR o._scd_until < n._scd_at THEN ARRAY('open')
            WHEN o._scd_until IS NOT NULL THEN ARRAY('open')
            WHEN n._scd_at = o._scd_from AND NOT o._scd_was_deleted THEN ARRAY('correct')
            ELSE ARRAY('close', 'open')
        END AS _scd_actions
    FROM snapshot AS n
    FULL OUTER JOIN (SELECT * FROM stored WHERE _scd_row = 1) AS o
        ON n.id = o.id
    WHERE
        CASE
            WHEN n.id IS NULL THEN o._scd_until IS NULL AND NOT o._scd_was_deleted
            WHEN o.id IS NULL OR o._scd_until IS NOT NULL THEN TRUE
            WHEN n._scd_at <= o._scd_from AND NOT o._scd_was_deleted AND STRUCT(
                n.a, n.b,
                COALESCE(n.c, CASE WHEN o._scd_until IS NULL AND NOT o._scd_was_deleted THEN o.c END) AS c
            )
                <=> STRUCT(o.a, o.b, o.c)
                THEN FALSE
            WHEN n._scd_at < o._scd_from AND NOT o._scd_was_deleted THEN FALSE
            ELSE TRUE
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
                    '[SCDGEN_TAKEN_AT] r.t66: the snapshot is not newer than a version that it closes: '
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
        _scd_start AS begins,
        COALESCE(_scd_next - INTERVAL '1' MILLISECOND, _scd_last_run) AS ends,
        CASE WHEN _scd_next IS NULL THEN 'Y' ELSE 'N' END AS current_flag,
        SHA2(TO_JSON(STRUCT(CAST(b AS STRING) AS b, c), MAP('ignoreNullFields', 'true')), 256) AS the_row_hash,
        _scd_gone AS is_deleted
    FROM versions
)
SELECT
    COUNT_IF(_scd_from IS NULL) AS new,
    COUNT_IF(NOT (_scd_gone) AND _scd_from IS NOT NULL AND _scd_until IS NULL AND NOT _scd_was_deleted) AS changed,
    COUNT_IF(_scd_gone) AS deleted,
    COUNT_IF(NOT (_scd_gone) AND _scd_from IS NOT NULL AND NOT (_scd_from IS NOT NULL AND _scd_until IS NULL AND NOT _scd_was_deleted)) AS returned,
    (SELECT COUNT(DISTINCT id) FROM extract) - COUNT_IF(NOT (_scd_gone)) AS unchanged,
    COUNT_IF(ARRAY_CONTAINS(_scd_actions, 'open')) AS opened,
    COUNT_IF(ARRAY_CONTAINS(_scd_actions, 'close')) AS closed,
    COUNT_IF(ARRAY_CONTAINS(_scd_actions, 'correct')) AS corrected,
    COUNT_IF(ARRAY_CONTAINS(_scd_actions, 'fold')) AS folded
FROM compared