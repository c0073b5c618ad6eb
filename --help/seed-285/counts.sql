WITH source_rows AS (
    -- The source's rows, with the target's column names and types.
    SELECT
        CAST(id AS INT) AS id,
        CAST(region AS STRING) AS region,
        CAST(src_a AS STRING) AS a,
        CAST(b AS INT) AS b,
        CAST(c AS STRING) AS c,
        CAST(happened AS BIGINT) AS _scd_at,
        lsn AS _scd_sequence_1
    FROM nowhere
),
changes AS (
    -- A row that breaks a rule stops the statement. EXPLODE: rows that the source leaves out are not tested.
    SELECT *
    FROM source_rows LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
    WHERE
        CASE
            WHEN id IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] r.t285: id is NULL')
            WHEN region IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] r.t285: region is NULL')
            WHEN _scd_at IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_TIME] r.t285: happened is NULL')
            ELSE _scd_kept
        END
),
timeline AS (
    -- A row per event: a change (rank 1), or the start (2) or end (3) of a version that the batch can affect.
    SELECT id, region, a, b, c, _scd_at, FALSE AS _scd_deleted, _scd_sequence_1, NULL AS _scd_until, 1 AS _scd_rank
    FROM changes
    UNION ALL
    SELECT
        t.id, t.region, t.a, t.b, t.c, _scd_at, _scd_deleted, NULL,
        CASE WHEN NOT (t.current_flag = 'Y') THEN t.ends + 1 END,
        _scd_rank
    FROM r.t285 AS t
    LEFT SEMI JOIN changes AS c ON t.id = c.id AND t.region = c.region
        LATERAL VIEW STACK(
            2,
            t.begins, COALESCE(t.is_deleted, FALSE), 2,
            CASE WHEN NOT (t.current_flag = 'Y') THEN t.ends + 1 END, TRUE, 3
        ) p AS _scd_at, _scd_deleted, _scd_rank
    WHERE _scd_at IS NOT NULL
    DISTRIBUTE BY id, region -- of the whole UNION: one shuffle serves every window
),
ranked AS (
    -- At one key and time, a change takes precedence over what is stored; the greatest lsn wins.
    SELECT
        *,
        ROW_NUMBER() OVER same_time AS _scd_row,
        RANK() OVER same_time > 1
            OR STRUCT(a, b, c) <=> FIRST_VALUE(STRUCT(a, b, c)) OVER same_time AS _scd_agrees,
        FIRST_VALUE(CASE WHEN _scd_rank = 2 THEN STRUCT(a, b, c, _scd_deleted, _scd_until AS _scd_next) END)
            IGNORE NULLS OVER (PARTITION BY id, region, _scd_at) AS _scd_stored
    FROM timeline
    WINDOW same_time AS (PARTITION BY id, region, _scd_at ORDER BY _scd_rank ASC, _scd_sequence_1 DESC)
),
events AS (
    -- One event per key and time; two changes that contradict each other stop the statement.
    SELECT
        *,
        LAG(_scd_at) OVER by_key IS NULL AS _scd_oldest,
        COUNT_IF(_scd_deleted) OVER by_key AS _scd_life
    FROM ranked
    WHERE
        CASE
            WHEN _scd_row = 1 THEN TRUE
            WHEN _scd_agrees THEN FALSE
            ELSE RAISE_ERROR(
                '[SCDGEN_CONFLICT] r.t285: two different rows of one key and time: '
                || TO_JSON(STRUCT(id, region, _scd_at))
            )
        END
    WINDOW by_key AS (PARTITION BY id, region ORDER BY _scd_at)
),
given AS (
    -- NULL in a change means "not given": the last known value stays; before it, the first known one.
    SELECT
        id,
        region,
        CASE
            WHEN _scd_deleted THEN a
            ELSE COALESCE(
                    LAST_VALUE(CASE WHEN NOT _scd_deleted THEN a END) IGNORE NULLS OVER by_life,
                    FIRST_VALUE(CASE WHEN NOT _scd_deleted THEN COALESCE(a, CASE WHEN NOT _scd_stored._scd_deleted THEN _scd_stored.a END) END)
                        IGNORE NULLS OVER whole_life
                )
        END AS a,
        b,
        c,
        _scd_at, _scd_deleted, _scd_stored, _scd_rank, _scd_oldest
    FROM events
    WINDOW
        by_life AS (PARTITION BY id, region, _scd_life ORDER BY _scd_at),
        whole_life AS (
            PARTITION BY id, region, _scd_life ORDER BY _scd_at
            ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
        )
),
opening AS (
    -- Each opens a version.
    SELECT
        *,
        TRUE AS _scd_opens
    FROM given
    WINDOW by_key AS (PARTITION BY id, region ORDER BY _scd_at)
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
        ) IGNORE NULLS OVER (PARTITION BY id, region ORDER BY _scd_at) AS _scd_known
    FROM opening
),
marked AS (
    -- Each version with its values.
    SELECT
        id,
        region,
        CASE WHEN _scd_deleted THEN _scd_known.a ELSE a END AS a,
        CASE WHEN _scd_deleted THEN _scd_known.b ELSE b END AS b,
        CASE WHEN _scd_deleted THEN _scd_known.c ELSE c END AS c,
        _scd_at, _scd_deleted, _scd_stored, _scd_rank, _scd_oldest, _scd_opens
    FROM known
),
staged AS (
    -- A version ends at the next start or delete, exclusive. The action is NULL if nothing needs to be written.
    SELECT
        LEAD(_scd_at) OVER (PARTITION BY id, region ORDER BY _scd_at) AS _scd_next,
        CASE
            WHEN _scd_opens AND _scd_stored IS NULL THEN 'open'
            WHEN NOT _scd_opens AND _scd_stored IS NOT NULL THEN 'fold'
            WHEN _scd_opens AND NOT (_scd_stored <=> STRUCT(a, b, c, _scd_deleted, _scd_next))
                THEN IF(_scd_stored._scd_next IS NULL AND _scd_next IS NOT NULL, 'close', 'correct')
        END AS _scd_action,
        _scd_stored IS NOT NULL AS _scd_known,
        _scd_stored IS NOT NULL AND _scd_stored._scd_next IS NULL AND NOT _scd_stored._scd_deleted AS _scd_live,
        id, region, a, b, c,
        SHA2(TO_JSON(ARRAY(CAST(id AS STRING), region, CAST(_scd_at AS STRING))), 256) AS the_surrogate_key,
        _scd_at AS begins,
        COALESCE(_scd_next - 1, _scd_last_run) AS ends,
        CASE WHEN _scd_next IS NULL THEN 'Y' ELSE 'N' END AS current_flag,
        _scd_deleted AS is_deleted
    FROM marked
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
            WHEN _scd_action <> 'fold' THEN current_flag = 'Y' AND NOT is_deleted
        END), FALSE) AS _scd_stays
    FROM staged
    GROUP BY id, region
)