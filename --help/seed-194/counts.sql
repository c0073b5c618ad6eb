WITH source_rows AS (
    -- The source's rows, with the target's column names and types.
    SELECT
        CAST(id AS INT) AS id,
        CAST(region AS STRING) AS region,
        CAST(src_a AS STRING) AS a,
        CAST(b AS INT) AS b,
        CAST(c AS STRING) AS c,
        CAST(id % 3 AS INT) AS bucket
    FROM nowhere
    WHERE (b IS NULL OR b >= session.least)
),
extract AS (
    -- A row that breaks a rule stops the statement. EXPLODE: rows that the source leaves out are not tested.
    -- A row without a key is left out.
    SELECT *
    FROM source_rows LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
    WHERE
        CASE
            WHEN id IS NULL OR region IS NULL THEN FALSE
            WHEN (bucket IS NULL OR ARRAY_CONTAINS(_scd_partitions_1, bucket)) THEN _scd_kept
            ELSE RAISE_ERROR('[SCDGEN_SOURCE_CHANGED] r.t194: the source changed during the run')
        END
    UNION ALL
    -- An empty extract would close every version, so it stops the statement.
    SELECT
        RAISE_ERROR('[SCDGEN_EMPTY_SNAPSHOT] r.t194: the snapshot is empty'),
        NULL, NULL, NULL, NULL, NULL, NULL
    WHERE NOT EXISTS (SELECT 1 FROM source_rows WHERE NOT (id IS NULL OR region IS NULL))
    DISTRIBUTE BY id, region -- one shuffle for the window and the join
),
ranked AS (
    -- Exact copies of a row count once.
    SELECT
        *,
        LAG(STRUCT(a, b, c, bucket)) OVER by_key AS _scd_before
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
            WHEN _scd_before <=> STRUCT(a, b, c, bucket) THEN FALSE
            ELSE RAISE_ERROR(
                '[SCDGEN_CONFLICT] r.t194: two different rows of one key: '
                || TO_JSON(STRUCT(id, region))
            )
        END
),
stored AS (
    -- Open versions, and those that ended at the time of this extract or later, as when it is loaded again.
    SELECT
        t.id, t.region, t.a, t.b, t.c, t.bucket,
        t.begins AS _scd_from,
        NULLIF(t.ends, 9999999999) AS _scd_until,
        ROW_NUMBER() OVER newest_first AS _scd_row
    FROM r.t194 AS t
    WHERE t.ends >= _scd_taken_at
        AND (t.bucket IS NULL OR ARRAY_CONTAINS(_scd_partitions_1, t.bucket))
    WINDOW newest_first AS (PARTITION BY t.id, t.region ORDER BY t.begins DESC)
    DISTRIBUTE BY id, region -- like the extract, for the join
),
compared AS (
    -- Only keys that differ: new, changed, or back again.
    SELECT
        COALESCE(n.id, o.id) AS id,
        COALESCE(n.region, o.region) AS region,
        n.a, n.b, n.c, n.bucket,
        _scd_taken_at AS _scd_at,
        o._scd_from, o._scd_until,
        COUNT_IF(n.id IS NULL) OVER () AS _scd_closing,
        CASE
            WHEN STRUCT(n.a, least(n.b, 1) AS b, n.c) <=> STRUCT(o.a, least(o.b, 1) AS b, o.c) THEN STRUCT(o.b)
        END AS _scd_same,
        CASE
            WHEN o.id IS NULL THEN ARRAY('open')
            WHEN o._scd_until IS NOT NULL THEN ARRAY('open')
            ELSE ARRAY('close', 'open')
        END AS _scd_actions
    FROM snapshot AS n
    LEFT JOIN (SELECT * FROM stored WHERE _scd_row = 1) AS o
        ON n.id = o.id
        AND n.region = o.region
    WHERE
        CASE
            WHEN o.id IS NULL OR o._scd_until IS NOT NULL THEN TRUE
            ELSE NOT (_scd_taken_at <= o._scd_from AND STRUCT(n.a, least(n.b, 1) AS b, n.c, n.bucket)
                <=> STRUCT(o.a, least(o.b, 1) AS b, o.c, o.bucket))
        END
),
versions AS (
    -- A changed key closes a version and opens another. Closing one that is too new, or too many, stops the run.
    SELECT
        *,
        CASE WHEN _scd_action = 'open' THEN GREATEST(_scd_at, _scd_until) ELSE _scd_from END AS _scd_start,
        CASE WHEN _scd_action = 'close' THEN _scd_at END AS _scd_next
    FROM compared
    CROSS JOIN (SELECT COUNT(*) AS _scd_current FROM r.t194 AS t WHERE t.ends = 9999999999)
        LATERAL VIEW EXPLODE(_scd_actions) p AS _scd_action
    WHERE
        CASE
            WHEN _scd_action = 'close' AND _scd_at <= _scd_from
                THEN RAISE_ERROR(
                    '[SCDGEN_TAKEN_AT] r.t194: the snapshot is not newer than a version that it closes: '
                    || TO_JSON(STRUCT(id, region, _scd_from))
                )
            WHEN _scd_closing > 0.9 * _scd_current
                THEN RAISE_ERROR(
                    '[SCDGEN_MAX_DELETED] r.t194: ' || _scd_closing
                    || IF(_scd_closing = 1, ' key', ' keys') || ' deleted ('
                    || ROUND(100 * _scd_closing / _scd_current, 1) || ' %; limit 90 %)'
                )
            ELSE TRUE
        END
),
kept AS (
    -- A version that is corrected keeps the values for which `compare` sees no change.
    SELECT
        id, region, a,
        IF(_scd_action = 'correct' AND _scd_same IS NOT NULL, _scd_same.b, b) AS b,
        c, bucket, _scd_action, _scd_start, _scd_next, _scd_from, _scd_until
    FROM versions
),
staged AS (
    -- Rows to write, with their history columns.
    SELECT
        _scd_action,
        id, region, a, b, c, bucket,
        _scd_start AS begins,
        COALESCE(_scd_next, 9999999999) AS ends,
        CASE WHEN _scd_next IS NULL THEN 'Y' ELSE 'N' END AS current_flag
    FROM kept
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