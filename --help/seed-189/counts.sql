WITH source_rows AS (
    -- The source's rows, with the target's column names and types.
    SELECT
        CAST(id AS INT) AS id,
        CAST(src_a AS STRING) AS a,
        CAST(b AS INT) AS b,
        CAST(c AS STRING) AS c,
        CAST(happened AS DATE) AS _scd_at,
        lsn AS _scd_sequence_1
    FROM _scd_source
    WHERE NOT COALESCE(op = 'D', FALSE)
),
changes AS (
    -- A row that breaks a rule stops the statement. EXPLODE: rows that the source leaves out are not tested.
    SELECT *
    FROM source_rows LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
    WHERE
        CASE
            WHEN id IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] r.t189: id is NULL')
            WHEN _scd_at IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_TIME] r.t189: happened is NULL')
            ELSE _scd_kept
        END
),
timeline AS (
    -- A row per event: a change (rank 1), or the start (2) or end (3) of a version that the batch can affect.
    SELECT
        id, a, b, c, _scd_at,
        FALSE AS _scd_deleted,
        _scd_sequence_1,
        NULL AS _scd_until,
        NULL AS the_action,
        1 AS _scd_rank
    FROM changes
    UNION ALL
    SELECT t.id, t.a, t.b, t.c, _scd_at, _scd_deleted, NULL, t.ends + INTERVAL '1' DAY, t.the_action, _scd_rank
    FROM r.t189 AS t
    LEFT SEMI JOIN changes AS c ON t.id = c.id
        LATERAL VIEW STACK(
            2, t.begins, FALSE, 2, t.ends + INTERVAL '1' DAY, TRUE, 3
        ) p AS _scd_at, _scd_deleted, _scd_rank
    WHERE _scd_at IS NOT NULL
    DISTRIBUTE BY id -- of the whole UNION: one shuffle serves every window
),
ranked AS (
    -- At one key and time, a change takes precedence over what is stored; the greatest lsn wins.
    SELECT
        *,
        ROW_NUMBER() OVER same_time AS _scd_row,
        FIRST_VALUE(CASE WHEN _scd_rank = 2 THEN STRUCT(a, b, c, the_action, _scd_until AS _scd_next) END)
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
    -- NULL in a change means "not given": the last known value stays; before it, the first known one.
    SELECT
        id,
        a,
        CASE
            WHEN _scd_deleted THEN b
            ELSE COALESCE(
                    LAST_VALUE(CASE WHEN NOT _scd_deleted THEN b END) IGNORE NULLS OVER by_life,
                    FIRST_VALUE(CASE WHEN NOT _scd_deleted THEN COALESCE(b, _scd_stored.b) END)
                        IGNORE NULLS OVER whole_life
                )
        END AS b,
        c,
        _scd_at, _scd_deleted, _scd_stored
    FROM events
    WINDOW
        by_life AS (PARTITION BY id, _scd_life ORDER BY _scd_at),
        whole_life AS (
            PARTITION BY id, _scd_life ORDER BY _scd_at
            ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
        )
),
opening AS (
    -- An event opens a version if it differs from the state before it.
    SELECT
        *,
        NOT _scd_deleted
            AND NOT (STRUCT(_scd_deleted, a, b, c IS NULL AS c)
                <=> LAG(STRUCT(_scd_deleted, a, b, c IS NULL AS c)) OVER by_key)
            AS _scd_opens
    FROM given
    WINDOW by_key AS (PARTITION BY id ORDER BY _scd_at)
),
kept AS (
    -- A version keeps the values of the change that opened it, or what is stored of it if `compare` sees no change.
    SELECT
        id,
        a,
        b,
        CASE
            WHEN _scd_deleted THEN c
            ELSE (LAST_VALUE(_scd_opening) IGNORE NULLS OVER by_key).c
        END AS c,
        _scd_at, _scd_deleted, _scd_stored, _scd_opens
    FROM (
        SELECT
            *,
            CASE
                WHEN NOT _scd_opens OR _scd_deleted THEN NULL
                WHEN _scd_stored IS NOT NULL
                    AND STRUCT(_scd_stored.a, _scd_stored.b, _scd_stored.c IS NULL AS c)
                        <=> STRUCT(a, b, c IS NULL AS c)
                    THEN STRUCT(_scd_stored.c)
                ELSE STRUCT(c)
            END AS _scd_opening
        FROM opening
    )
    WINDOW by_key AS (PARTITION BY id ORDER BY _scd_at)
),
versions AS (
    -- A version lasts until the next version or delete of its key.
    SELECT
        *,
        COALESCE(LAG(_scd_deleted) OVER by_key, TRUE) AS _scd_begins,
        COALESCE(
            LEAD(CASE WHEN _scd_opens OR _scd_deleted THEN _scd_deleted END) IGNORE NULLS OVER by_key,
            FALSE
        ) AS _scd_ends_deleted,
        LEAD(CASE WHEN _scd_opens OR _scd_deleted THEN _scd_at END) IGNORE NULLS OVER by_key AS _scd_next
    FROM kept
    WINDOW by_key AS (PARTITION BY id ORDER BY _scd_at)
),
staged AS (
    -- Rows to write; the action is NULL if the stored version is already right.
    SELECT
        CASE
            WHEN _scd_opens AND _scd_stored IS NULL THEN 'open'
            WHEN NOT _scd_opens AND _scd_stored IS NOT NULL THEN 'fold'
            WHEN _scd_opens AND NOT (_scd_stored
                <=> STRUCT(
                    a, b, c,
                    CASE WHEN _scd_ends_deleted THEN 'D' WHEN _scd_begins THEN 'I' ELSE 'U' END AS the_action,
                    _scd_next
                ))
                THEN IF(_scd_stored._scd_next IS NULL AND _scd_next IS NOT NULL, 'close', 'correct')
        END AS _scd_action,
        _scd_stored IS NOT NULL AS _scd_known,
        _scd_stored IS NOT NULL AND _scd_stored._scd_next IS NULL AS _scd_live,
        id, a, b, c,
        SHA2(TO_JSON(ARRAY(CAST(id AS STRING), CAST(_scd_at AS STRING))), 256) AS the_surrogate_key,
        _scd_at AS begins,
        _scd_next - INTERVAL '1' DAY AS ends,
        _scd_next IS NULL AS is_current,
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
            WHEN _scd_action <> 'fold' THEN ends IS NULL
        END), FALSE) AS _scd_stays
    FROM staged
    GROUP BY id
)