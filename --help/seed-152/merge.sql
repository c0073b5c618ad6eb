-- r.t152
-- Merges a batch of changes into the history: a change that is not newer than what is stored of its key stops the
-- statement. A change that repeats the values before it opens no version; one at a stored start replaces the values. No
-- change deletes a key; other keys stay as they are. Stops and writes nothing if an earlier row arrives during the run.
-- Repeating the last batch changes nothing.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.
-- Set before this runs: DECLARE OR REPLACE VARIABLE last_run DATE DEFAULT ...;

-- The time of this run, written as the end of the open versions.
DECLARE OR REPLACE VARIABLE _scd_last_run DATE;

SET VARIABLE _scd_last_run = COALESCE(
    CAST(session.last_run AS DATE),
    RAISE_ERROR('[SCDGEN_NULL_TIME] r.t152: the param last_run is NULL; give it a value')
);

-- The time of the earliest change. No version that ended before it can be affected, so Delta can skip those files.
DECLARE OR REPLACE VARIABLE _scd_batch_from DATE;

SET VARIABLE _scd_batch_from = (
    SELECT MIN(CAST(happened AS DATE))
    FROM nowhere
    WHERE NOT COALESCE(op = 'D', FALSE)
);

MERGE INTO r.t152 AS t USING (
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
                WHEN _scd_at >= _scd_batch_from THEN _scd_kept
                ELSE RAISE_ERROR('[SCDGEN_SOURCE_CHANGED] r.t152: the source changed during the run')
            END
    ),
    timeline AS (
        -- A row per event: a change (rank 1), or the start (2) or end (3) of a version that the batch can affect.
        SELECT id, a, b, c, _scd_at, FALSE AS _scd_deleted, NULL AS _scd_until, 1 AS _scd_rank
        FROM changes
        UNION ALL
        SELECT
            t.id, t.a, t.b, t.c, _scd_at, _scd_deleted,
            CASE WHEN NOT (t.current_flag = 'Y') THEN t.ends END,
            _scd_rank
        FROM r.t152 AS t
        LEFT SEMI JOIN changes AS c ON t.id = c.id
            LATERAL VIEW STACK(
                2, t.begins, FALSE, 2,
                CASE WHEN NOT (t.current_flag = 'Y') THEN t.ends END, TRUE, 3
            ) p AS _scd_at, _scd_deleted, _scd_rank
        WHERE (t.current_flag = 'Y' OR t.ends >= _scd_batch_from) AND _scd_at IS NOT NULL
        DISTRIBUTE BY id -- of the whole UNION: one shuffle serves every window
    ),
    newest AS (
        -- The newest start or delete that is stored of each key: what is not later than it is late.
        SELECT
            *,
            MAX(CASE WHEN _scd_rank > 1 THEN _scd_at END) OVER (PARTITION BY id) AS _scd_newest
        FROM timeline
    ),
    ranked AS (
        -- At one key and time, a change takes precedence over what is stored.
        SELECT
            *,
            ROW_NUMBER() OVER same_time AS _scd_row,
            FIRST_VALUE(CASE WHEN _scd_rank = 2 THEN STRUCT(a, b, c, _scd_until AS _scd_next) END)
                IGNORE NULLS OVER (PARTITION BY id, _scd_at) AS _scd_stored
        FROM newest
        WHERE
            CASE
                WHEN _scd_rank = 1 AND _scd_at <= _scd_newest THEN RAISE_ERROR(
                    '[SCDGEN_LATE] r.t152: a late row: ' || TO_JSON(STRUCT(id, _scd_at))
                )
                ELSE TRUE
            END
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
        -- NULL in a change means "not given": the last known value stays.
        SELECT
            id,
            a,
            b,
            CASE
                WHEN _scd_deleted THEN c
                ELSE LAST_VALUE(CASE WHEN NOT _scd_deleted THEN c END) IGNORE NULLS OVER by_life
            END AS c,
            _scd_at, _scd_deleted, _scd_stored, _scd_life,
            STRUCT(c) AS _scd_own
        FROM events
        WINDOW
            by_life AS (PARTITION BY id, _scd_life ORDER BY _scd_at)
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
                ELSE LAST_VALUE(_scd_opening.c) IGNORE NULLS OVER by_life
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
                        THEN STRUCT(COALESCE(_scd_stored.c, _scd_own.c) AS c)
                    ELSE STRUCT(_scd_own.c)
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
            LEAD(CASE WHEN _scd_opens OR _scd_deleted THEN _scd_at END)
                IGNORE NULLS OVER (PARTITION BY id ORDER BY _scd_at) AS _scd_next,
            CASE
                WHEN _scd_opens AND _scd_stored IS NULL THEN 'open'
                WHEN NOT _scd_opens AND _scd_stored IS NOT NULL THEN 'fold'
                WHEN _scd_opens AND NOT (_scd_stored <=> STRUCT(a, b, c, _scd_next))
                    THEN IF(_scd_stored._scd_next IS NULL AND _scd_next IS NOT NULL, 'close', 'correct')
            END AS _scd_action,
            id, a, b, c,
            _scd_at AS begins,
            COALESCE(_scd_next, _scd_last_run) AS ends,
            CASE WHEN _scd_next IS NULL THEN 'Y' ELSE 'N' END AS current_flag,
            SHA2(TO_JSON(STRUCT(a, CAST(b AS STRING) AS b, c), MAP('ignoreNullFields', 'true')), 256) AS the_row_hash
        FROM kept
    )
    SELECT * FROM staged WHERE _scd_action IS NOT NULL
) AS s
    -- A key and a start identify a version.
    ON t.id = s.id AND t.begins = s.begins AND (t.current_flag = 'Y' OR t.ends >= _scd_batch_from)
-- Redundant: the version before it now has the same values.
WHEN MATCHED AND s._scd_action = 'fold' THEN DELETE
-- A stored version whose end or values change.
WHEN MATCHED THEN
    UPDATE SET
        a = s.a, b = s.b, c = s.c, ends = s.ends, current_flag = s.current_flag, the_row_hash = s.the_row_hash
-- A version that is not stored yet.
WHEN NOT MATCHED THEN
    INSERT (id, a, b, c, begins, ends, current_flag, the_row_hash)
    VALUES (s.id, s.a, s.b, s.c, s.begins, s.ends, s.current_flag, s.the_row_hash)
-- An open version that the batch does not touch: its end is the time of this run.
WHEN NOT MATCHED BY SOURCE AND t.current_flag = 'Y' AND t.ends <> _scd_last_run THEN
    UPDATE SET ends = _scd_last_run;
