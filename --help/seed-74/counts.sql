WITH source AS (
    SELECT * FROM incoming_74 WHERE 1 = 1
),
source_rows AS (
    -- The source's rows, with the target's column names and types.
    SELECT
        CAST(id AS INT) AS id,
        CAST(region AS STRING) AS region,
        CAST(src_a AS STRING) AS a,
        CAST(b AS INT) AS b,
        CAST(c AS STRING) AS c,
        CAST(happened AS BIGINT) AS _scd_at,
        lsn AS _scd_sequence_1
    FROM source
),
extract AS (
    -- A row that breaks a rule stops the statement. EXPLODE: rows that the source leaves out are not tested.
    SELECT *
    FROM source_rows LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
    WHERE
        CASE
            WHEN id IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] r.t74: id is NULL')
            WHEN region IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] r.t74: region is NULL')
            WHEN _scd_at IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_TIME] r.t74: happened is NULL')
            WHEN _scd_at - 10 >= _scd_batch_from THEN _scd_kept
            ELSE RAISE_ERROR('[SCDGEN_SOURCE_CHANGED] r.t74: the source changed during the run')
        END
    UNION ALL
    -- An empty extract would close every version, so it stops the statement.
    SELECT
        RAISE_ERROR('[SCDGEN_EMPTY_SNAPSHOT] r.t74: the snapshot is empty'),
        NULL, NULL, NULL, NULL, NULL, NULL, NULL
    WHERE NOT EXISTS (SELECT 1 FROM source_rows)
    DISTRIBUTE BY id, region -- one shuffle for the window and the join
),
ranked AS (
    -- Exact copies of a row count once; the row with the greatest sequence wins.
    SELECT
        *,
        RANK() OVER by_key > 1
            OR STRUCT(a, b, c, _scd_at) <=> FIRST_VALUE(STRUCT(a, b, c, _scd_at)) OVER by_key AS _scd_agrees,
        ROW_NUMBER() OVER by_key AS _scd_row
    FROM extract
    WINDOW by_key AS (PARTITION BY id, region ORDER BY _scd_sequence_1 DESC)
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
                '[SCDGEN_CONFLICT] r.t74: two different rows of one key: '
                || TO_JSON(STRUCT(id, region))
            )
        END
),
stored AS (
    -- Open versions, and those that ended at the time of this extract or later, as when it is loaded again.
    SELECT
        t.id, t.region, t.a, t.b, t.c,
        t.begins AS _scd_from,
        t.ends + 10 AS _scd_until,
        COALESCE(t.is_deleted, FALSE) AS _scd_was_deleted,
        COALESCE(id < 70, FALSE) AS _scd_in_scope,
        ROW_NUMBER() OVER newest_first AS _scd_row
    FROM r.t74 AS t
    WHERE (t.ends IS NULL OR t.ends >= _scd_batch_from)
    WINDOW newest_first AS (PARTITION BY t.id, t.region ORDER BY t.begins DESC)
    DISTRIBUTE BY id, region -- like the extract, for the join
),
compared AS (
    -- Only keys that differ: missing from the extract, new, changed, or back again.
    SELECT
        COALESCE(n.id, o.id) AS id,
        COALESCE(n.region, o.region) AS region,
        CASE WHEN n.id IS NULL THEN o.a ELSE n.a END AS a,
        CASE WHEN n.id IS NULL THEN o.b WHEN o._scd_until IS NULL AND NOT o._scd_was_deleted THEN COALESCE(n.b, o.b) ELSE n.b END AS b,
        CASE WHEN n.id IS NULL THEN o.c WHEN o._scd_until IS NULL AND NOT o._scd_was_deleted THEN COALESCE(n.c, o.c) ELSE n.c END AS c,
        CASE
            WHEN o._scd_was_deleted AND n._scd_at <= o._scd_from THEN _scd_taken_at
            ELSE COALESCE(n._scd_at, _scd_taken_at)
        END AS _scd_at,
        o._scd_from, o._scd_until,
        o._scd_was_deleted,
        COUNT_IF(n.id IS NULL) OVER () AS _scd_closing,
        n.id IS NULL AS _scd_gone,
        CASE
            WHEN NOT o._scd_was_deleted AND STRUCT(
                n.a = 'x' AS a,
                COALESCE(n.b, CASE WHEN o._scd_until IS NULL AND NOT o._scd_was_deleted THEN o.b END) AS b,
                COALESCE(n.c, CASE WHEN o._scd_until IS NULL AND NOT o._scd_was_deleted THEN o.c END) AS c
            )
                <=> STRUCT(o.a = 'x' AS a, o.b, o.c)
                THEN STRUCT(o.a)
        END AS _scd_same,
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
        AND n.region = o.region
    WHERE
        CASE
            WHEN n.id IS NULL THEN o._scd_until IS NULL AND NOT o._scd_was_deleted AND o._scd_in_scope
            WHEN o.id IS NULL OR o._scd_until IS NOT NULL THEN TRUE
            WHEN n._scd_at <= o._scd_from AND NOT o._scd_was_deleted AND STRUCT(
                n.a = 'x' AS a,
                COALESCE(n.b, CASE WHEN o._scd_until IS NULL AND NOT o._scd_was_deleted THEN o.b END) AS b,
                COALESCE(n.c, CASE WHEN o._scd_until IS NULL AND NOT o._scd_was_deleted THEN o.c END) AS c
            )
                <=> STRUCT(o.a = 'x' AS a, o.b, o.c)
                THEN FALSE
            WHEN n._scd_at < o._scd_from AND NOT o._scd_was_deleted THEN RAISE_ERROR(
                '[SCDGEN_LATE] r.t74: a late row: ' || TO_JSON(STRUCT(n.id, n.region, n._scd_at))
            )
            ELSE TRUE
        END
),
versions AS (
    -- A changed key closes a version and opens another. Closing one that is too new, or too many, stops the run.
    SELECT
        *,
        CASE WHEN _scd_action = 'open' THEN GREATEST(_scd_at, _scd_until) ELSE _scd_from END AS _scd_start,
        CASE WHEN _scd_action = 'close' THEN _scd_at END AS _scd_next
    FROM compared
    CROSS JOIN (
        SELECT COUNT(*) AS _scd_current
        FROM r.t74 AS t
        WHERE t.ends IS NULL
            AND NOT t.is_deleted
            AND id < 70
    )
        LATERAL VIEW EXPLODE(_scd_actions) p AS _scd_action
    WHERE
        CASE
            WHEN _scd_action = 'close' AND _scd_at <= _scd_from
                THEN RAISE_ERROR(
                    '[SCDGEN_TAKEN_AT] r.t74: the snapshot is not newer than a version that it closes: '
                    || TO_JSON(STRUCT(id, region, _scd_from))
                )
            WHEN _scd_closing > 0.9 * _scd_current
                THEN RAISE_ERROR(
                    '[SCDGEN_MAX_DELETED] r.t74: ' || _scd_closing
                    || IF(_scd_closing = 1, ' key', ' keys') || ' deleted ('
                    || ROUND(100 * _scd_closing / _scd_current, 1) || ' %; limit 90 %)'
                )
            ELSE TRUE
        END
),
kept AS (
    -- A version that is corrected keeps the values for which `compare` sees no change.
    SELECT
        id, region,
        IF(_scd_action = 'correct' AND _scd_same IS NOT NULL, _scd_same.a, a) AS a,
        b, c, _scd_action, _scd_start, _scd_next, _scd_from, _scd_until, _scd_was_deleted, _scd_gone
    FROM versions
),
staged AS (
    -- Rows to write, with their history columns.
    SELECT
        _scd_action,
        id, region, a, b, c,
        _scd_start AS begins,
        _scd_next - 10 AS ends,
        CASE WHEN _scd_next IS NULL THEN 1 ELSE 0 END AS is_current,
        SHA2(TO_JSON(STRUCT(a, CAST(b AS STRING) AS b, c), MAP('ignoreNullFields', 'true')), 256) AS the_row_hash,
        _scd_gone AS is_deleted
    FROM kept
)
SELECT
    COUNT_IF(_scd_from IS NULL) AS new,
    COUNT_IF(NOT (_scd_gone) AND _scd_from IS NOT NULL AND _scd_until IS NULL AND NOT _scd_was_deleted) AS changed,
    COUNT_IF(_scd_gone) AS deleted,
    COUNT_IF(NOT (_scd_gone) AND _scd_from IS NOT NULL AND NOT (_scd_from IS NOT NULL AND _scd_until IS NULL AND NOT _scd_was_deleted)) AS returned,
    (SELECT COUNT(DISTINCT id, region) FROM extract) - COUNT_IF(NOT (_scd_gone)) AS unchanged,
    COUNT_IF(ARRAY_CONTAINS(_scd_actions, 'open')) AS opened,
    COUNT_IF(ARRAY_CONTAINS(_scd_actions, 'close')) AS closed,
    COUNT_IF(ARRAY_CONTAINS(_scd_actions, 'correct')) AS corrected,
    COUNT_IF(ARRAY_CONTAINS(_scd_actions, 'fold')) AS folded
FROM compared