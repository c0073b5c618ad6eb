WITH source_rows AS (
    -- The source's rows, with the target's column names and types.
    SELECT
        CAST(id AS INT) AS id,
        CAST(src_a AS STRING) AS a,
        CAST(b AS INT) AS b,
        CAST(c AS STRING) AS c,
        CAST(happened AS DATE) AS _scd_at,
        COALESCE(op = 'D', FALSE) AS _scd_deleted
    FROM incoming_36
),
changes AS (
    -- A row without a key or a time is left out.
    SELECT *
    FROM source_rows
    WHERE NOT (id IS NULL OR _scd_at IS NULL)
),
timeline AS (
    -- A row per event: a change (rank 1), or the start (2) or end (3) of a version that the batch can affect.
    SELECT id, a, b, c, _scd_at, _scd_deleted, NULL AS _scd_until, 1 AS _scd_rank
    FROM changes
    UNION ALL
    SELECT t.id, t.a, t.b, t.c, _scd_at, _scd_deleted, t.ends, _scd_rank
    FROM r.t36 AS t
    LEFT SEMI JOIN changes AS c ON t.id = c.id
        LATERAL VIEW STACK(2, t.begins, FALSE, 2, t.ends, TRUE, 3) p AS _scd_at, _scd_deleted, _scd_rank
    WHERE _scd_at IS NOT NULL
    DISTRIBUTE BY id -- of the whole UNION: one shuffle serves every window
),
ranked AS (
    -- At one key and time, a change takes precedence over what is stored.
    SELECT
        *,
        ROW_NUMBER() OVER same_time AS _scd_row,
        CASE WHEN NOT _scd_deleted THEN STRUCT(a, b, c) END
            <=> FIRST_VALUE(CASE WHEN NOT _scd_deleted THEN STRUCT(a, b, c) END) OVER same_time
            AS _scd_agrees,
        FIRST_VALUE(CASE WHEN _scd_rank = 2 THEN STRUCT(a, b, c, _scd_until AS _scd_next) END)
            IGNORE NULLS OVER (PARTITION BY id, _scd_at) AS _scd_stored
    FROM timeline
    WINDOW same_time AS (PARTITION BY id, _scd_at ORDER BY _scd_rank)
),
events AS (
    -- One event per key and time; two changes that contradict each other stop the statement.
    SELECT
        *,
        COUNT_IF(_scd_deleted) OVER by_key AS _scd_life
    FROM ranked
    WHERE
        CASE
            WHEN _scd_row = 1 THEN TRUE
            WHEN _scd_rank > 1 OR _scd_agrees THEN FALSE
            ELSE RAISE_ERROR(
                '[SCDGEN_CONFLICT] r.t36: two different rows of one key and time: '
                || TO_JSON(STRUCT(id, _scd_at))
            )
        END
    WINDOW by_key AS (PARTITION BY id ORDER BY _scd_at)
),
given AS (
    -- NULL in a change means "not given": the last known value stays; before it, the first known one.
    SELECT
        id,
        CASE
            WHEN _scd_deleted THEN a
            ELSE COALESCE(
                    LAST_VALUE(CASE WHEN NOT _scd_deleted THEN a END) IGNORE NULLS OVER by_life,
                    FIRST_VALUE(CASE WHEN NOT _scd_deleted THEN COALESCE(a, _scd_stored.a) END)
                        IGNORE NULLS OVER whole_life
                )
        END AS a,
        CASE
            WHEN _scd_deleted THEN b
            ELSE COALESCE(
                    LAST_VALUE(CASE WHEN NOT _scd_deleted THEN b END) IGNORE NULLS OVER by_life,
                    FIRST_VALUE(CASE WHEN NOT _scd_deleted THEN COALESCE(b, _scd_stored.b) END)
                        IGNORE NULLS OVER whole_life
                )
        END AS b,
        CASE
            WHEN _scd_deleted THEN c
            ELSE LAST_VALUE(CASE WHEN NOT _scd_deleted THEN c END) IGNORE NULLS OVER by_life
        END AS c,
        _scd_at, _scd_deleted, _scd_stored, _scd_life,
        STRUCT(b) AS _scd_own
    FROM events
    WINDOW
        by_life AS (PARTITION BY id, _scd_life ORDER BY _scd_at),
        whole_life AS (
            PARTITION BY id, _scd_life ORDER BY _scd_at
            ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
        )
),
opening AS (
    -- Each that is not a delete opens a version.
    SELECT
        *,
        NOT _scd_deleted AS _scd_opens
    FROM given
    WINDOW by_key AS (PARTITION BY id ORDER BY _scd_at)
),
kept AS (
    -- A version keeps the values of the change that opened it, or what is stored of it if `compare` sees no change.
    SELECT
        id,
        a,
        CASE
            WHEN _scd_deleted THEN b
            ELSE COALESCE(
                LAST_VALUE(_scd_opening.b) IGNORE NULLS OVER by_life,
                FIRST_VALUE(CASE WHEN NOT _scd_deleted THEN b END) IGNORE NULLS OVER by_life
            )
        END AS b,
        c,
        _scd_at, _scd_deleted, _scd_stored, _scd_opens
    FROM (
        SELECT
            *,
            CASE
                WHEN NOT _scd_opens OR _scd_deleted THEN NULL
                WHEN _scd_stored IS NOT NULL AND STRUCT(least(_scd_stored.b, 1) AS b) <=> STRUCT(least(b, 1) AS b)
                    THEN STRUCT(COALESCE(_scd_stored.b, _scd_own.b) AS b)
                ELSE STRUCT(_scd_own.b)
            END AS _scd_opening
        FROM opening
    )
    WINDOW
        by_key AS (PARTITION BY id ORDER BY _scd_at),
        by_life AS (PARTITION BY id, _scd_life ORDER BY _scd_at)
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
        _scd_at AS begins,
        _scd_next AS ends,
        CASE WHEN _scd_next IS NULL THEN 1 ELSE 0 END AS is_current
    FROM kept
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
    GROUP BY id
)