WITH source_rows AS (
    -- The source's rows, with the target's column names and types.
    SELECT
        CAST(id AS INT) AS id,
        CAST(region AS STRING) AS region,
        CAST(src_a AS STRING) AS a,
        CAST(b AS INT) AS b,
        CAST(c AS STRING) AS c,
        lsn AS _scd_sequence_1
    FROM _scd_source
),
extract AS (
    -- A row without a key is left out.
    SELECT *
    FROM source_rows
    WHERE NOT (id IS NULL OR region IS NULL)
    DISTRIBUTE BY id, region -- one shuffle for the window and the join
),
ranked AS (
    -- Exact copies of a row count once; the row with the greatest sequence wins.
    SELECT
        *,
        RANK() OVER by_key > 1
            OR STRUCT(a, b, c) <=> FIRST_VALUE(STRUCT(a, b, c)) OVER by_key AS _scd_agrees,
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
                '[SCDGEN_CONFLICT] r.t18: two different rows of one key: '
                || TO_JSON(STRUCT(id, region))
            )
        END
),
stored AS (
    -- Open versions, and those that ended at the time of this extract or later, as when it is loaded again.
    SELECT
        t.id, t.region, t.a, t.b, t.c,
        t.begins AS _scd_from,
        NULLIF(t.ends, TIMESTAMP '9999-12-31 23:59:59.999') AS _scd_until,
        t.the_action AS _scd_was,
        COALESCE(t.is_deleted, FALSE) AS _scd_was_deleted,
        ROW_NUMBER() OVER newest_first AS _scd_row
    FROM r.t18 AS t
    WHERE t.ends >= _scd_taken_at
    WINDOW newest_first AS (PARTITION BY t.id, t.region ORDER BY t.begins DESC)
    DISTRIBUTE BY id, region -- like the extract, for the join
),
compared AS (
    -- Only keys that differ: missing from the extract, new, changed, or back again.
    SELECT
        COALESCE(n.id, o.id) AS id,
        COALESCE(n.region, o.region) AS region,
        CASE WHEN n.id IS NULL THEN o.a WHEN o._scd_until IS NULL AND NOT o._scd_was_deleted THEN COALESCE(n.a, o.a) ELSE n.a END AS a,
        CASE WHEN n.id IS NULL THEN o.b ELSE n.b END AS b,
        CASE WHEN n.id IS NULL THEN o.c ELSE n.c END AS c,
        _scd_taken_at AS _scd_at,
        o._scd_from, o._scd_until,
        o._scd_was_deleted,
        o._scd_was,
        n.id IS NULL AS _scd_gone,
        CASE
            WHEN NOT o._scd_was_deleted AND STRUCT(least(n.b, 1) AS b, n.c) <=> STRUCT(least(o.b, 1) AS b, o.c)
                THEN STRUCT(o.b)
        END AS _scd_same,
        CASE
            WHEN n.id IS NULL THEN ARRAY('close', 'open')
            WHEN o.id IS NULL THEN ARRAY('open')
            WHEN _scd_same IS NOT NULL THEN ARRAY('correct')
            WHEN o._scd_until IS NOT NULL THEN ARRAY('open')
            ELSE ARRAY('close', 'open')
        END AS _scd_actions
    FROM snapshot AS n
    FULL OUTER JOIN (SELECT * FROM stored WHERE _scd_row = 1) AS o
        ON n.id = o.id
        AND n.region = o.region
    WHERE
        CASE
            WHEN n.id IS NULL THEN o._scd_until IS NULL AND NOT o._scd_was_deleted
            WHEN o.id IS NULL OR o._scd_until IS NOT NULL THEN TRUE
            ELSE NOT (NOT o._scd_was_deleted AND STRUCT(
                COALESCE(n.a, CASE WHEN o._scd_until IS NULL AND NOT o._scd_was_deleted THEN o.a END) AS a,
                least(n.b, 1) AS b, n.c
            )
                <=> STRUCT(o.a, least(o.b, 1) AS b, o.c))
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
                    '[SCDGEN_TAKEN_AT] r.t18: the snapshot is not newer than a version that it closes: '
                    || TO_JSON(STRUCT(id, region, _scd_from))
                )
            ELSE TRUE
        END
),
kept AS (
    -- A version that is corrected keeps the values for which `compare` sees no change.
    SELECT
        id, region, a,
        IF(_scd_action = 'correct' AND _scd_same IS NOT NULL, _scd_same.b, b) AS b,
        c, _scd_action, _scd_start, _scd_next, _scd_from, _scd_until, _scd_was_deleted, _scd_was, _scd_gone
    FROM versions
),
staged AS (
    -- Rows to write, with their history columns.
    SELECT
        _scd_action,
        id, region, a, b, c,
        _scd_start AS begins,
        COALESCE(_scd_next, TIMESTAMP '9999-12-31 23:59:59.999') AS ends,
        CASE
            WHEN _scd_action = 'open' AND (_scd_from IS NULL OR _scd_until IS NOT NULL OR _scd_was_deleted) THEN 'I'
            WHEN _scd_action = 'close' AND _scd_gone THEN 'D'
            WHEN _scd_action = 'open' OR _scd_was = 'D' THEN 'U'
            ELSE _scd_was
        END AS the_action,
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