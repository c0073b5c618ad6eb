WITH source_rows AS (
    -- The source's rows, with the target's column names and types.
    SELECT
        CAST(id AS INT) AS id,
        CAST(src_a AS STRING) AS a,
        CAST(b AS INT) AS b,
        CAST(c AS STRING) AS c,
        CAST(happened AS BIGINT) AS _scd_at,
        COALESCE(op = 'D', FALSE) AS _scd_deleted,
        lsn AS _scd_sequence_1
    FROM nowhere
),
changes AS (
    -- A row that breaks a rule stops the statement. EXPLODE: rows that the source leaves out are not tested.
    -- A row without a key or a time is left out.
    SELECT *
    FROM source_rows LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
    WHERE
        CASE
            WHEN id IS NULL OR _scd_at IS NULL THEN FALSE
            WHEN _scd_at >= _scd_batch_from THEN _scd_kept
            ELSE RAISE_ERROR('[SCDGEN_SOURCE_CHANGED] r.t56: the source changed during the run')
        END
),
timeline AS (
    -- A row per event: a change (rank 1), or the start (2) or end (3) of a version that the batch can affect.
    SELECT id, a, b, c, _scd_at, _scd_deleted, _scd_sequence_1, NULL AS _scd_until, 1 AS _scd_rank
    FROM changes
    UNION ALL
    SELECT
        t.id, t.a, t.b, t.c, _scd_at, _scd_deleted, NULL,
        CASE WHEN NOT (t.is_current = 1) THEN t.ends END,
        _scd_rank
    FROM r.t56 AS t
    LEFT SEMI JOIN changes AS c ON t.id = c.id
        LATERAL VIEW STACK(
            2,
            t.begins, COALESCE(t.is_deleted, FALSE), 2,
            CASE WHEN NOT (t.is_current = 1) THEN t.ends END, TRUE, 3
        ) p AS _scd_at, _scd_deleted, _scd_rank
    WHERE (t.is_current = 1 OR t.ends >= _scd_batch_from) AND _scd_at IS NOT NULL
    DISTRIBUTE BY id -- of the whole UNION: one shuffle serves every window
),
ranked AS (
    -- At one key and time, a change takes precedence over what is stored; the greatest lsn wins.
    SELECT
        *,
        ROW_NUMBER() OVER same_time AS _scd_row,
        RANK() OVER same_time > 1
            OR CASE WHEN NOT _scd_deleted THEN STRUCT(a, b, c) END
            <=> FIRST_VALUE(CASE WHEN NOT _scd_deleted THEN STRUCT(a, b, c) END) OVER same_time
            AS _scd_agrees,
        FIRST_VALUE(CASE WHEN _scd_rank = 2 THEN STRUCT(a, b, c, _scd_deleted, _scd_until AS _scd_next) END)
            IGNORE NULLS OVER (PARTITION BY id, _scd_at) AS _scd_stored
    FROM timeline
    WINDOW same_time AS (PARTITION BY id, _scd_at ORDER BY _scd_rank ASC, _scd_sequence_1 DESC)
),
events AS (
    -- One event per key and time; two changes that contradict each other stop the statement.
    -- An event opens a version if it differs from the state before it.
    SELECT
        *,
        LAG(_scd_at) OVER by_key IS NULL AS _scd_oldest,
        CASE
            WHEN _scd_deleted THEN COALESCE(NOT LAG(_scd_deleted) OVER by_key, _scd_rank = 2)
            ELSE NOT (STRUCT(_scd_deleted, a = 'x' AS a, b)
                <=> LAG(STRUCT(_scd_deleted, a = 'x' AS a, b)) OVER by_key)
        END
            AS _scd_opens
    FROM ranked
    WHERE
        CASE
            WHEN _scd_row = 1 THEN TRUE
            WHEN _scd_agrees THEN FALSE
            ELSE RAISE_ERROR(
                '[SCDGEN_CONFLICT] r.t56: two different rows of one key and time: '
                || TO_JSON(STRUCT(id, _scd_at))
            )
        END
    WINDOW by_key AS (PARTITION BY id ORDER BY _scd_at)
),
kept AS (
    -- A version keeps the values of the change that opened it, or what is stored of it if `compare` sees no change.
    SELECT
        id,
        CASE
            WHEN _scd_deleted THEN a
            ELSE (LAST_VALUE(_scd_opening) IGNORE NULLS OVER by_key).a
        END AS a,
        b,
        c,
        _scd_at, _scd_deleted, _scd_stored, _scd_rank, _scd_oldest, _scd_opens
    FROM (
        SELECT
            *,
            CASE
                WHEN NOT _scd_opens OR _scd_deleted THEN NULL
                WHEN _scd_stored IS NOT NULL
                    AND NOT _scd_stored._scd_deleted
                    AND STRUCT(_scd_stored.a = 'x' AS a, _scd_stored.b) <=> STRUCT(a = 'x' AS a, b)
                    THEN STRUCT(_scd_stored.a)
                ELSE STRUCT(a)
            END AS _scd_opening
        FROM events
    )
    WINDOW by_key AS (PARTITION BY id ORDER BY _scd_at)
),
known AS (
    -- A delete is a version that keeps the last known values.
    SELECT
        *,
        LAST_VALUE(
            CASE
                WHEN NOT _scd_deleted OR (_scd_oldest AND _scd_rank = 2)
                    THEN STRUCT(a, b, c)
            END
        ) IGNORE NULLS OVER (PARTITION BY id ORDER BY _scd_at) AS _scd_known
    FROM kept
),
marked AS (
    -- Each version with its values.
    SELECT
        id,
        CASE WHEN _scd_deleted THEN _scd_known.a ELSE a END AS a,
        CASE WHEN _scd_deleted THEN _scd_known.b ELSE b END AS b,
        CASE WHEN _scd_deleted THEN _scd_known.c ELSE c END AS c,
        _scd_at, _scd_deleted, _scd_stored, _scd_rank, _scd_oldest, _scd_opens
    FROM known
),
runs AS (
    -- Numbers the versions, to find the newest value of an untracked column in each.
    SELECT
        *,
        COUNT_IF(_scd_opens) OVER (PARTITION BY id ORDER BY _scd_at) AS _scd_run
    FROM marked
),
versions AS (
    -- A version lasts until the next version of its key.
    SELECT
        id,
        a,
        b,
        LAST_VALUE(c) OVER in_version AS c,
        _scd_at,
        _scd_deleted,
        _scd_opens,
        _scd_stored,
        LEAD(CASE WHEN _scd_opens THEN _scd_at END) IGNORE NULLS OVER by_key AS _scd_next
    FROM runs
    WINDOW
        by_key AS (PARTITION BY id ORDER BY _scd_at),
        in_version AS (
            PARTITION BY id, _scd_run ORDER BY _scd_at
            ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
        )
),
staged AS (
    -- Rows to write; the action is NULL if the stored version is already right.
    SELECT
        CASE
            WHEN _scd_opens AND _scd_stored IS NULL THEN 'open'
            WHEN NOT _scd_opens AND _scd_stored IS NOT NULL THEN 'fold'
            WHEN _scd_opens AND NOT (_scd_stored <=> STRUCT(a, b, c, _scd_deleted, _scd_next))
                THEN IF(_scd_stored._scd_next IS NULL AND _scd_next IS NOT NULL, 'close', 'correct')
        END AS _scd_action,
        _scd_stored IS NOT NULL AS _scd_known,
        _scd_stored IS NOT NULL AND _scd_stored._scd_next IS NULL AND NOT _scd_stored._scd_deleted AS _scd_live,
        id, a, b, c,
        SHA2(TO_JSON(ARRAY(CAST(id AS STRING), CAST(_scd_at AS STRING))), 256) AS the_surrogate_key,
        _scd_at AS begins,
        COALESCE(_scd_next, _scd_last_run) AS ends,
        CASE WHEN _scd_next IS NULL THEN 1 ELSE 0 END AS is_current,
        SHA2(TO_JSON(STRUCT(a, CAST(b AS STRING) AS b), MAP('ignoreNullFields', 'true')), 256) AS the_row_hash,
        _scd_deleted AS is_deleted
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
            WHEN _scd_action <> 'fold' THEN is_current = 1 AND NOT is_deleted
        END), FALSE) AS _scd_stays
    FROM staged
    GROUP BY id
)