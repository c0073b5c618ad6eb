WITH source_rows AS (
    -- The source's rows, with the target's column names and types.
    SELECT
        CAST(id AS INT) AS id,
        CAST(region AS STRING) AS region,
        CAST(src_a AS STRING) AS a,
        CAST(b AS INT) AS b,
        CAST(c AS STRING) AS c,
        CAST(id % 3 AS INT) AS bucket,
        CAST(happened AS TIMESTAMP) AS _scd_at,
        COALESCE(op = 'D', FALSE) AS _scd_deleted,
        lsn AS _scd_sequence_1
    FROM nowhere
    WHERE (b IS NULL OR b >= session.least)
),
changes AS (
    -- A row that breaks a rule stops the statement. EXPLODE: rows that the source leaves out are not tested.
    SELECT *
    FROM source_rows LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
    WHERE
        CASE
            WHEN id IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] r.t104: id is NULL')
            WHEN region IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] r.t104: region is NULL')
            WHEN _scd_at IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_TIME] r.t104: happened is NULL')
            WHEN _scd_at >= TIMESTAMP '9999-12-31 23:59:59.999'
                THEN RAISE_ERROR('[SCDGEN_NULL_TIME] r.t104: happened is not before the open end')
            WHEN _scd_at - INTERVAL '1' MICROSECOND >= _scd_batch_from
                AND (bucket IS NULL OR ARRAY_CONTAINS(_scd_partitions_1, bucket))
                THEN _scd_kept
            ELSE RAISE_ERROR('[SCDGEN_SOURCE_CHANGED] r.t104: the source changed during the run')
        END
),
timeline AS (
    -- A row per event: a change (rank 1), or the start (2) or end (3) of a version that the batch can affect.
    SELECT
        id, region, a, b, c, bucket, _scd_at, _scd_deleted, _scd_sequence_1,
        NULL AS _scd_until,
        NULL AS the_action,
        1 AS _scd_rank
    FROM changes
    UNION ALL
    SELECT
        t.id, t.region, t.a, t.b, t.c, t.bucket, _scd_at, _scd_deleted, NULL,
        NULLIF(t.ends, TIMESTAMP '9999-12-31 23:59:59.999') + INTERVAL '1' MICROSECOND,
        t.the_action, _scd_rank
    FROM r.t104 AS t
    LEFT SEMI JOIN changes AS c ON t.id = c.id AND t.region = c.region
        LATERAL VIEW STACK(
            2, t.begins, FALSE, 2,
            NULLIF(t.ends, TIMESTAMP '9999-12-31 23:59:59.999') + INTERVAL '1' MICROSECOND, TRUE, 3
        ) p AS _scd_at, _scd_deleted, _scd_rank
    WHERE (t.bucket IS NULL OR ARRAY_CONTAINS(_scd_partitions_1, t.bucket)) AND _scd_at IS NOT NULL
    DISTRIBUTE BY id, region -- of the whole UNION: one shuffle serves every window
),
ranked AS (
    -- At one key and time, a change takes precedence over what is stored; the greatest lsn wins.
    SELECT
        *,
        ROW_NUMBER() OVER same_time AS _scd_row,
        FIRST_VALUE(CASE WHEN _scd_rank = 2 THEN STRUCT(a, b, c, bucket, the_action, _scd_until AS _scd_next) END)
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
        b,
        c,
        bucket,
        _scd_at, _scd_deleted, _scd_stored
    FROM events
    WINDOW
        by_life AS (PARTITION BY id, region, _scd_life ORDER BY _scd_at)
),
opening AS (
    -- Each that is not a delete opens a version.
    SELECT
        *,
        NOT _scd_deleted AS _scd_opens
    FROM given
    WINDOW by_key AS (PARTITION BY id, region ORDER BY _scd_at)
),
versions AS (
    -- A version lasts until the next version or delete of its key.
    SELECT
        *,
        COALESCE(LAG(_scd_deleted) OVER by_key, TRUE) AS _scd_begins,
        COALESCE(
            LEAD(_scd_deleted) OVER by_key,
            FALSE
        ) AS _scd_ends_deleted,
        LEAD(_scd_at) OVER by_key AS _scd_next
    FROM opening
    WINDOW by_key AS (PARTITION BY id, region ORDER BY _scd_at)
),
staged AS (
    -- Rows to write; the action is NULL if the stored version is already right.
    SELECT
        CASE
            WHEN _scd_opens AND _scd_stored IS NULL THEN 'open'
            WHEN NOT _scd_opens AND _scd_stored IS NOT NULL THEN 'fold'
            WHEN _scd_opens AND NOT (_scd_stored
                <=> STRUCT(
                    a, b, c, bucket,
                    CASE WHEN _scd_ends_deleted THEN 'D' WHEN _scd_begins THEN 'I' ELSE 'U' END AS the_action,
                    _scd_next
                ))
                THEN IF(_scd_stored._scd_next IS NULL AND _scd_next IS NOT NULL, 'close', 'correct')
        END AS _scd_action,
        _scd_stored IS NOT NULL AS _scd_known,
        _scd_stored IS NOT NULL AND _scd_stored._scd_next IS NULL AS _scd_live,
        id, region, a, b, c, bucket,
        SHA2(
            TO_JSON(ARRAY(CAST(id AS STRING), region, CAST(UNIX_MICROS(_scd_at) AS STRING))), 256
        ) AS the_surrogate_key,
        _scd_at AS begins,
        COALESCE(_scd_next - INTERVAL '1' MICROSECOND, TIMESTAMP '9999-12-31 23:59:59.999') AS ends,
        CASE WHEN _scd_next IS NULL THEN 'Y' ELSE 'N' END AS current_flag,
        CASE WHEN _scd_ends_deleted THEN 'D' WHEN _scd_begins THEN 'I' ELSE 'U' END AS the_action
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
            WHEN _scd_action <> 'fold' THEN ends = TIMESTAMP '9999-12-31 23:59:59.999'
        END), FALSE) AS _scd_stays
    FROM staged
    GROUP BY id, region
)