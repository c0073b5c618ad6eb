-- r.t248: it's \ number 248 -- of */ many
-- Merges a batch of changes into the history: a late change splits, shortens or extends the versions around it, and
-- removes redundant ones. A change that repeats the values before it opens no version; one at a stored start replaces
-- the values. No change deletes a key; other keys stay as they are. Repeating the last batch changes nothing.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

MERGE INTO r.t248 AS t USING (
    WITH source_rows AS (
        -- The source's rows, with the target's column names and types.
        SELECT
            CAST(id AS INT) AS id,
            CAST(src_a AS STRING) AS a,
            CAST(b AS INT) AS b,
            CAST(c AS STRING) AS c,
            CAST(happened AS DATE) AS _scd_at
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
                    THEN RAISE_ERROR('[SCDGEN_NULL_TIME] r.t248: happened is not before the open end')
                ELSE _scd_kept
            END
    ),
    timeline AS (
        -- A row per event: a change (rank 1), or the start (2) or end (3) of a version that the batch can affect.
        SELECT id, a, b, c, _scd_at, FALSE AS _scd_deleted, NULL AS _scd_until, NULL AS the_action, 1 AS _scd_rank
        FROM changes
        UNION ALL
        SELECT
            t.id, t.a, t.b, t.c, _scd_at, _scd_deleted,
            NULLIF(t.ends, DATE '9999-12-31') + INTERVAL '1' DAY,
            t.the_action, _scd_rank
        FROM r.t248 AS t
        LEFT SEMI JOIN changes AS c ON t.id = c.id
            LATERAL VIEW STACK(
                2, t.begins, FALSE, 2,
                NULLIF(t.ends, DATE '9999-12-31') + INTERVAL '1' DAY, TRUE, 3
            ) p AS _scd_at, _scd_deleted, _scd_rank
        WHERE _scd_at IS NOT NULL
        DISTRIBUTE BY id -- of the whole UNION: one shuffle serves every window
    ),
    ranked AS (
        -- At one key and time, a change takes precedence over what is stored.
        SELECT
            *,
            ROW_NUMBER() OVER same_time AS _scd_row,
            FIRST_VALUE(CASE WHEN _scd_rank = 2 THEN STRUCT(a, b, c, the_action, _scd_until AS _scd_next) END)
                IGNORE NULLS OVER (PARTITION BY id, _scd_at) AS _scd_stored
        FROM timeline
        WINDOW same_time AS (PARTITION BY id, _scd_at ORDER BY _scd_rank, STRUCT(a, b, c))
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
            CASE
                WHEN _scd_deleted THEN a
                ELSE LAST_VALUE(CASE WHEN NOT _scd_deleted THEN a END) IGNORE NULLS OVER by_life
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
                ELSE COALESCE(
                        LAST_VALUE(CASE WHEN NOT _scd_deleted THEN c END) IGNORE NULLS OVER by_life,
                        FIRST_VALUE(CASE WHEN NOT _scd_deleted THEN COALESCE(c, _scd_stored.c) END)
                            IGNORE NULLS OVER whole_life
                    )
            END AS c,
            _scd_at, _scd_deleted, _scd_stored, _scd_life,
            STRUCT(a) AS _scd_own
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
                AND NOT (STRUCT(_scd_deleted, a = 'x' AS a, b, c)
                    <=> LAG(STRUCT(_scd_deleted, a = 'x' AS a, b, c)) OVER by_key)
                AS _scd_opens
        FROM given
        WINDOW by_key AS (PARTITION BY id ORDER BY _scd_at)
    ),
    kept AS (
        -- A version keeps the values of the change that opened it, or what is stored of it if `compare` sees no change.
        SELECT
            id,
            CASE
                WHEN _scd_deleted THEN a
                ELSE LAST_VALUE(_scd_opening.a) IGNORE NULLS OVER by_life
            END AS a,
            b,
            c,
            _scd_at, _scd_deleted, _scd_stored, _scd_opens
        FROM (
            SELECT
                *,
                CASE
                    WHEN NOT _scd_opens OR _scd_deleted THEN NULL
                    WHEN _scd_stored IS NOT NULL
                        AND STRUCT(_scd_stored.a = 'x' AS a, _scd_stored.b, _scd_stored.c)
                            <=> STRUCT(a = 'x' AS a, b, c)
                        THEN STRUCT(COALESCE(_scd_stored.a, _scd_own.a) AS a)
                    ELSE STRUCT(_scd_own.a)
                END AS _scd_opening
            FROM opening
        )
        WINDOW
            by_key AS (PARTITION BY id ORDER BY _scd_at),
            by_life AS (PARTITION BY id, _scd_life ORDER BY _scd_at)
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
            id, a, b, c,
            _scd_at AS begins,
            COALESCE(_scd_next - INTERVAL '1' DAY, DATE '9999-12-31') AS ends,
            CASE WHEN _scd_next IS NULL THEN 'Y' ELSE 'N' END AS current_flag,
            CASE WHEN _scd_ends_deleted THEN 'D' WHEN _scd_begins THEN 'I' ELSE 'U' END AS the_action
        FROM versions
    )
    SELECT * FROM staged WHERE _scd_action IS NOT NULL
) AS s
    -- A key and a start identify a version.
    ON t.id = s.id AND t.begins = s.begins
-- Redundant: the version before it now has the same values.
WHEN MATCHED AND s._scd_action = 'fold' THEN DELETE
-- A stored version whose end or values change.
WHEN MATCHED THEN
    UPDATE SET a = s.a, b = s.b, c = s.c, ends = s.ends, current_flag = s.current_flag, the_action = s.the_action
-- A version that is not stored yet.
WHEN NOT MATCHED THEN
    INSERT (id, a, b, c, begins, ends, current_flag, the_action)
    VALUES (s.id, s.a, s.b, s.c, s.begins, s.ends, s.current_flag, s.the_action);
