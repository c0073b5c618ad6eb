-- r.t97
-- Merges a batch of changes into the history: a change that is not newer than what is stored of its key is left out.
-- Each change is a version; one at a stored start replaces the values. No change deletes a key; other keys stay as they
-- are. Stops and writes nothing if a key or time is NULL, rows of one key and time differ, or an earlier row arrives
-- during the run. Repeating the last batch changes nothing.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.
-- Set before this runs: DECLARE OR REPLACE VARIABLE last_run TIMESTAMP DEFAULT ...;

CREATE OR REPLACE TEMPORARY VIEW _scd_source USING parquet OPTIONS ('path' 'data/x/97/rows', 'mergeSchema' 'false');

-- The time of this run, written as the end of the open versions.
DECLARE OR REPLACE VARIABLE _scd_last_run TIMESTAMP;

SET VARIABLE _scd_last_run = COALESCE(
    CAST(session.last_run AS TIMESTAMP),
    RAISE_ERROR('[SCDGEN_NULL_TIME] r.t97: the param last_run is NULL; give it a value')
);

-- The time of the earliest change. No version that ended before it can be affected, so Delta can skip those files.
DECLARE OR REPLACE VARIABLE _scd_batch_from TIMESTAMP;

SET VARIABLE _scd_batch_from = (
    SELECT MIN(CAST(happened AS TIMESTAMP)) - INTERVAL '1' DAY
    FROM _scd_source
    WHERE NOT COALESCE(op = 'D', FALSE)
);

MERGE INTO r.t97 AS t USING (
    WITH source_rows AS (
        -- The source's rows, with the target's column names and types.
        SELECT
            CAST(id AS INT) AS id,
            CAST(src_a AS STRING) AS a,
            CAST(b AS INT) AS b,
            CAST(c AS STRING) AS c,
            CAST(happened AS TIMESTAMP) AS _scd_at
        FROM _scd_source
        WHERE NOT COALESCE(op = 'D', FALSE)
    ),
    changes AS (
        -- A row that breaks a rule stops the statement. EXPLODE: rows that the source leaves out are not tested.
        SELECT *
        FROM source_rows LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
        WHERE
            CASE
                WHEN id IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] r.t97: id is NULL')
                WHEN _scd_at IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_TIME] r.t97: happened is NULL')
                WHEN _scd_at - INTERVAL '1' DAY + INTERVAL '1' DAY <> _scd_at
                    THEN RAISE_ERROR('[SCDGEN_GAP] r.t97: happened comes 1 day after a change of the clock')
                WHEN _scd_at - INTERVAL '1' DAY >= _scd_batch_from THEN _scd_kept
                ELSE RAISE_ERROR('[SCDGEN_SOURCE_CHANGED] r.t97: the source changed during the run')
            END
    ),
    timeline AS (
        -- A row per event: a change (rank 1), or the start (2) or end (3) of a version that the batch can affect.
        SELECT id, a, b, c, _scd_at, FALSE AS _scd_deleted, NULL AS _scd_until, NULL AS the_action, 1 AS _scd_rank
        FROM changes
        UNION ALL
        SELECT
            t.id, t.a, t.b, t.c, _scd_at, _scd_deleted,
            CASE WHEN NOT t.is_current THEN t.ends + INTERVAL '1' DAY END,
            t.the_action, _scd_rank
        FROM r.t97 AS t
        LEFT SEMI JOIN changes AS c ON t.id = c.id
            LATERAL VIEW STACK(
                2, t.begins, FALSE, 2,
                CASE WHEN NOT t.is_current THEN t.ends + INTERVAL '1' DAY END, TRUE, 3
            ) p AS _scd_at, _scd_deleted, _scd_rank
        WHERE _scd_at IS NOT NULL
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
            STRUCT(a, b, c) <=> FIRST_VALUE(STRUCT(a, b, c)) OVER same_time AS _scd_agrees,
            FIRST_VALUE(CASE WHEN _scd_rank = 2 THEN STRUCT(a, b, c, the_action, _scd_until AS _scd_next) END)
                IGNORE NULLS OVER (PARTITION BY id, _scd_at) AS _scd_stored
        FROM newest
        WHERE _scd_rank > 1 OR _scd_newest IS NULL OR _scd_at > _scd_newest
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
                    '[SCDGEN_CONFLICT] r.t97: two different rows of one key and time: '
                    || TO_JSON(STRUCT(id, _scd_at))
                )
            END
        WINDOW by_key AS (PARTITION BY id ORDER BY _scd_at)
    ),
    given AS (
        -- NULL in a change means "not given": the last known value stays.
        SELECT
            id,
            a,
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
            SHA2(TO_JSON(ARRAY(CAST(id AS STRING), CAST(UNIX_MICROS(_scd_at) AS STRING))), 256) AS the_surrogate_key,
            _scd_at AS begins,
            COALESCE(_scd_next - INTERVAL '1' DAY, _scd_last_run) AS ends,
            _scd_next IS NULL AS is_current,
            CASE WHEN _scd_ends_deleted THEN 'D' WHEN _scd_begins THEN 'I' ELSE 'U' END AS the_action
        FROM versions
    )
    SELECT * FROM staged WHERE _scd_action IS NOT NULL
) AS s
    -- A key and a start identify a version.
    ON t.id = s.id AND t.begins = s.begins AND (t.is_current OR t.ends >= _scd_batch_from)
-- Redundant: the version before it now has the same values.
WHEN MATCHED AND s._scd_action = 'fold' THEN DELETE
-- A stored version whose end or values change.
WHEN MATCHED THEN
    UPDATE SET a = s.a, b = s.b, c = s.c, ends = s.ends, is_current = s.is_current, the_action = s.the_action
-- A version that is not stored yet.
WHEN NOT MATCHED THEN
    INSERT (id, a, b, c, the_surrogate_key, begins, ends, is_current, the_action)
    VALUES (s.id, s.a, s.b, s.c, s.the_surrogate_key, s.begins, s.ends, s.is_current, s.the_action)
-- An open version that the batch does not touch: its end is the time of this run.
WHEN NOT MATCHED BY SOURCE AND t.is_current AND t.ends <> _scd_last_run THEN
    UPDATE SET ends = _scd_last_run;
