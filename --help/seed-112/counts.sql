WITH source_rows AS (
    -- The source's rows, with the target's column names and types.
    SELECT
        CAST(id AS INT) AS id,
        CAST(src_a AS STRING) AS a,
        CAST(b AS INT) AS b,
        CAST(c AS STRING) AS c,
        CAST(happened AS DATE) AS _scd_at,
        lsn AS _scd_sequence_1
    FROM nowhere
    WHERE NOT COALESCE(op = 'D', FALSE)
),
changes AS (
    -- A row that breaks a rule stops the statement. EXPLODE: rows that the source leaves out are not tested.
    -- A row without a key or a time is left out.
    SELECT *
    FROM source_rows LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
    WHERE
        CASE
            WHEN id IS NULL OR _scd_at IS NULL THEN FALSE
            WHEN _scd_at >= DATE '9999-12-31'
                THEN RAISE_ERROR('[SCDGEN_NULL_TIME] r.t112: happened is not before the open end')
            WHEN _scd_at - INTERVAL '1' DAY >= _scd_batch_from THEN _scd_kept
            ELSE RAISE_ERROR('[SCDGEN_SOURCE_CHANGED] r.t112: the source changed during the run')
        END
),
timeline AS (
    -- A row per event: a change (rank 1), or the start (2) or end (3) of a version that the batch can affect.
    SELECT id, a, b, c, _scd_at, FALSE AS _scd_deleted, _scd_sequence_1, NULL AS _scd_until, 1 AS _scd_rank
    FROM changes
    UNION ALL
    SELECT
        t.id, t.a, t.b, t.c, _scd_at, _scd_deleted, NULL,
        NULLIF(t.ends, DATE '9999-12-31') + INTERVAL '1' DAY,
        _scd_rank
    FROM r.t112 AS t
    LEFT SEMI JOIN changes AS c ON t.id = c.id
        LATERAL VIEW STACK(
            2, t.begins, FALSE, 2,
            NULLIF(t.ends, DATE '9999-12-31') + INTERVAL '1' DAY, TRUE, 3
        ) p AS _scd_at, _scd_deleted, _scd_rank
    WHERE t.ends >= _scd_batch_from AND _scd_at IS NOT NULL
    DISTRIBUTE BY id -- of the whole UNION: one shuffle serves every window
),
ranked AS (
    -- At one key and time, a change takes precedence over what is stored; the greatest lsn wins.
    SELECT
        *,
        ROW_NUMBER() OVER same_time AS _scd_row,
        FIRST_VALUE(CASE WHEN _scd_rank = 2 THEN STRUCT(a, b, c, _scd_until AS _scd_next) END)
            IGNORE NULLS OVER (PARTITION BY id, _scd_at) AS _scd_stored
    FROM timeline
    WINDOW same_time AS (PARTITION BY id, _scd_at ORDER BY _scd_rank ASC, _scd_sequence_1 DESC, STRUCT(a, b, c))
),
events AS (
    -- One event per key and time.
    SELECT
        *,
        COUNT_IF(_scd_deleted) OVER by_key AS _scd_life
    FROM ranked
    WHERE _scd_row = 1
    WINDOW by_key AS (PARTITION BY id ORDER BY _scd_at)
),
given AS (
    -- NULL in a change means "not given": the last known value stays.
    SELECT
        id,
        CASE
            WHEN _scd_deleted THEN a
            ELSE LAST_VALUE(CASE WHEN NOT _scd_deleted THEN a END) IGNORE NULLS OVER by_life
        END AS a,
        CASE
            WHEN _scd_deleted THEN b
            ELSE LAST_VALUE(CASE WHEN NOT _scd_deleted THEN b END) IGNORE NULLS OVER by_life
        END AS b,
        c,
        _scd_at, _scd_deleted, _scd_stored
    FROM events
    WINDOW
        by_life AS (PARTITION BY id, _scd_life ORDER BY _scd_at)
),
opening AS (
    -- Each that is not a delete opens a version.
    SELECT
        *,
        NOT _scd_deleted AS _scd_opens
    FROM given
    WINDOW by_key AS (PARTITION BY id ORDER BY _scd_at)
),
staged AS (
    -- A version ends at the next start or delete, exclusive. The action is NULL if nothing needs to be written.
    SELECT
        LEAD(_scd_at) OVER (PARTITION BY id ORDER BY _scd_at) AS _scd_next,
        CASE
            WHEN _scd_opens AND _scd_stored IS NULL THEN 'open'
            WHEN NOT _scd_opens AND _scd_stored IS NOT NULL THEN 'fold'
            WHEN _scd_opens AND NOT (_scd_stored <=> STRUCT(a, b, c, _scd_next))
                THEN IF(_scd_stored._scd_next IS NULL AND _scd_next IS NOT NULL, 'close', 'correct')
        END AS _scd_action,
        _scd_stored IS NOT NULL AS _scd_known,
        _scd_stored IS NOT NULL AND _scd_stored._scd_next IS NULL AS _scd_live,
        id, a, b, c,
        SHA2(TO_JSON(ARRAY(CAST(id AS STRING), CAST(_scd_at AS STRING))), 256) AS the_surrogate_key,
        _scd_at AS begins,
        COALESCE(_scd_next - INTERVAL '1' DAY, DATE '9999-12-31') AS ends
    FROM opening
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
            WHEN _scd_action <> 'fold' THEN ends = DATE '9999-12-31'
        END), FALSE) AS _scd_stays
    FROM staged
    GROUP BY id
)