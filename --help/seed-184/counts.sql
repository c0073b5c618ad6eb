WITH source AS (
    SELECT * FROM incoming_184 WHERE 1 = 1
),
source_rows AS (
    -- The source's rows, with the target's column names and types.
    SELECT
        CAST(id AS INT) AS id,
        CAST(region AS STRING) AS region,
        CAST(src_a AS STRING) AS a,
        CAST(b AS INT) AS b,
        CAST(c AS STRING) AS c,
        CAST(id % 3 AS INT) AS bucket,
        CAST(happened AS DATE) AS _scd_at,
        COALESCE(op = 'D', FALSE) AS _scd_deleted,
        lsn AS _scd_sequence_1
    FROM source
),
changes AS (
    -- A row that breaks a rule stops the statement. EXPLODE: rows that the source leaves out are not tested.
    SELECT *
    FROM source_rows LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
    WHERE
        CASE
            WHEN id IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] r.t184: id is NULL')
            WHEN region IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] r.t184: region is NULL')
            WHEN _scd_at IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_TIME] r.t184: happened is NULL')
            WHEN _scd_at >= _scd_batch_from AND (bucket IS NULL OR ARRAY_CONTAINS(_scd_partitions_1, bucket))
                THEN _scd_kept
            ELSE RAISE_ERROR('[SCDGEN_SOURCE_CHANGED] r.t184: the source changed during the run')
        END
),
timeline AS (
    -- A row per event: a change (rank 1), or the start (2) or end (3) of a version that the batch can affect.
    SELECT id, region, a, b, c, bucket, _scd_at, _scd_deleted, _scd_sequence_1, NULL AS _scd_until, 1 AS _scd_rank
    FROM changes
    UNION ALL
    SELECT t.id, t.region, t.a, t.b, t.c, t.bucket, _scd_at, _scd_deleted, NULL, t.ends, _scd_rank
    FROM r.t184 AS t
    LEFT SEMI JOIN changes AS c ON t.id = c.id AND t.region = c.region
        LATERAL VIEW STACK(2, t.begins, FALSE, 2, t.ends, TRUE, 3) p AS _scd_at, _scd_deleted, _scd_rank
    WHERE (t.ends IS NULL OR t.ends >= _scd_batch_from)
        AND (t.bucket IS NULL OR ARRAY_CONTAINS(_scd_partitions_1, t.bucket))
        AND _scd_at IS NOT NULL
    DISTRIBUTE BY id, region -- of the whole UNION: one shuffle serves every window
),
ranked AS (
    -- At one key and time, a change takes precedence over what is stored; the greatest lsn wins.
    SELECT
        *,
        ROW_NUMBER() OVER same_time AS _scd_row,
        FIRST_VALUE(CASE WHEN _scd_rank = 2 THEN STRUCT(a, b, c, bucket, _scd_until AS _scd_next) END)
            IGNORE NULLS OVER (PARTITION BY id, region, _scd_at) AS _scd_stored
    FROM timeline
    WINDOW same_time AS (PARTITION BY id, region, _scd_at ORDER BY _scd_rank ASC, _scd_sequence_1 DESC, _scd_deleted DESC, STRUCT(a, b, c, bucket))
),
events AS (
    -- One event per key and time.
    SELECT
        *,
        COUNT_IF(_scd_deleted) OVER by_key AS _scd_life
    FROM ranked
    WHERE _scd_row = 1
    WINDOW by_key AS (PARTITION BY id, region ORDER BY _scd_at)
),
given AS (
    -- NULL in a change means "not given": the last known value stays.
    SELECT
        id,
        region,
        CASE
            WHEN _scd_deleted THEN a
            ELSE LAST_VALUE(CASE WHEN NOT _scd_deleted THEN a END) IGNORE NULLS OVER by_life
        END AS a,
        CASE
            WHEN _scd_deleted THEN b
            ELSE LAST_VALUE(CASE WHEN NOT _scd_deleted THEN b END) IGNORE NULLS OVER by_life
        END AS b,
        c,
        bucket,
        _scd_at, _scd_deleted, _scd_stored
    FROM events
    WINDOW
        by_life AS (PARTITION BY id, region, _scd_life ORDER BY _scd_at)
),
opening AS (
    -- An event opens a version if it differs from the state before it.
    SELECT
        *,
        NOT _scd_deleted
            AND NOT (STRUCT(_scd_deleted, a, b, c) <=> LAG(STRUCT(_scd_deleted, a, b, c)) OVER by_key)
            AS _scd_opens
    FROM given
    WINDOW by_key AS (PARTITION BY id, region ORDER BY _scd_at)
),
runs AS (
    -- Numbers the versions, to find the newest value of an untracked column in each.
    SELECT
        *,
        COUNT_IF(_scd_opens OR _scd_deleted) OVER (PARTITION BY id, region ORDER BY _scd_at) AS _scd_run
    FROM opening
),
versions AS (
    -- A version lasts until the next version or delete of its key.
    SELECT
        id,
        region,
        a,
        b,
        c,
        LAST_VALUE(bucket) OVER in_version AS bucket,
        _scd_at,
        _scd_opens,
        _scd_stored,
        LEAD(CASE WHEN _scd_opens OR _scd_deleted THEN _scd_at END) IGNORE NULLS OVER by_key AS _scd_next
    FROM runs
    WINDOW
        by_key AS (PARTITION BY id, region ORDER BY _scd_at),
        in_version AS (
            PARTITION BY id, region, _scd_run ORDER BY _scd_at
            ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
        )
),
staged AS (
    -- Rows to write; the action is NULL if the stored version is already right.
    SELECT
        CASE
            WHEN _scd_opens AND _scd_stored IS NULL THEN 'open'
            WHEN NOT _scd_opens AND _scd_stored IS NOT NULL THEN 'fold'
            WHEN _scd_opens AND NOT (_scd_stored <=> STRUCT(a, b, c, bucket, _scd_next))
                THEN IF(_scd_stored._scd_next IS NULL AND _scd_next IS NOT NULL, 'close', 'correct')
        END AS _scd_action,
        _scd_stored IS NOT NULL AS _scd_known,
        _scd_stored IS NOT NULL AND _scd_stored._scd_next IS NULL AS _scd_live,
        id, region, a, b, c, bucket,
        _scd_at AS begins,
        _scd_next AS ends,
        CASE WHEN _scd_next IS NULL THEN 1 ELSE 0 END AS is_current
    FROM versions
)
SELECT
    COUNT_IF(_scd_writes > 0 AND NOT _scd_known) AS new,
    COUNT_IF(_scd_writes > 0 AND _scd_known AND _scd_lives = _scd_stays) AS changed,
    COUNT_IF(_scd_lives AND NOT _scd_stays) AS deleted,
    COUNT_IF(_scd_known AND NOT _scd_lives AND _scd_stays) AS returned,
    COUNT_IF(_scd_writes = 0) AS unchanged,
    SUM(_scd_opened) AS opened,
    SUM(_scd_closed) AS closed,
    SUM(_scd_corrected) AS corrected,
    SUM(_scd_folded) AS folded
FROM (
    SELECT
        COUNT_IF(_scd_action = 'open') AS _scd_opened,
        COUNT_IF(_scd_action = 'close') AS _scd_closed,
        COUNT_IF(_scd_action = 'correct') AS _scd_corrected,
        COUNT_IF(_scd_action = 'fold') AS _scd_folded,
        COUNT(_scd_action) AS _scd_writes,
        BOOL_OR(_scd_known) AS _scd_known,
        BOOL_OR(_scd_live) AS _scd_lives,
        COALESCE(BOOL_OR(CASE
            WHEN _scd_action IS NULL THEN _scd_live
            WHEN _scd_action <> 'fold' THEN ends IS NULL
        END), FALSE) AS _scd_stays
    FROM staged
    GROUP BY id, region
)