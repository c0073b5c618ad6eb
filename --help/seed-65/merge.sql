-- r.t65
-- Merges a batch of changes into the history: a late change splits, shortens or extends the versions around it, and
-- removes redundant ones. Each change is a version; one at a stored start replaces the values. No change deletes a key;
-- other keys stay as they are. Stops and writes nothing if a key or time is NULL, or rows of one key and time differ.
-- Repeating the last batch changes nothing.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.
-- Set before this runs: DECLARE OR REPLACE VARIABLE last_run DATE DEFAULT ...;

-- The time of this run, written as the end of the open versions.
DECLARE OR REPLACE VARIABLE _scd_last_run DATE;

SET VARIABLE _scd_last_run = COALESCE(
    CAST(session.last_run AS DATE),
    RAISE_ERROR('[SCDGEN_NULL_TIME] r.t65: the param last_run is NULL; give it a value')
);

MERGE INTO r.t65 AS t USING (
    WITH source_rows AS (
        -- The source's rows, with the target's column names and types.
        SELECT
            CAST(id AS INT) AS id,
            CAST(region AS STRING) AS region,
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
        SELECT *
        FROM source_rows LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
        WHERE
            CASE
                WHEN id IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] r.t65: id is NULL')
                WHEN region IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] r.t65: region is NULL')
                WHEN _scd_at IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_TIME] r.t65: happened is NULL')
                ELSE _scd_kept
            END
    ),
    timeline AS (
        -- A row per event: a change (rank 1), or the start (2) or end (3) of a version that the batch can affect.
        SELECT
            id, region, a, b, c, _scd_at,
            FALSE AS _scd_deleted,
            _scd_sequence_1,
            NULL AS _scd_until,
            NULL AS the_action,
            1 AS _scd_rank
        FROM changes
        UNION ALL
        SELECT
            t.id, t.region, t.a, t.b, t.c, _scd_at, _scd_deleted, NULL,
            CASE WHEN NOT (t.current_flag = 'Y') THEN t.ends + INTERVAL '1' DAY END,
            t.the_action, _scd_rank
        FROM r.t65 AS t
        LEFT SEMI JOIN changes AS c ON t.id = c.id AND t.region = c.region
            LATERAL VIEW STACK(
                2, t.begins, FALSE, 2,
                CASE WHEN NOT (t.current_flag = 'Y') THEN t.ends + INTERVAL '1' DAY END, TRUE, 3
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
            FIRST_VALUE(CASE WHEN _scd_rank = 2 THEN STRUCT(a, b, c, the_action, _scd_until AS _scd_next) END)
                IGNORE NULLS OVER (PARTITION BY id, region, _scd_at) AS _scd_stored
        FROM timeline
        WINDOW same_time AS (PARTITION BY id, region, _scd_at ORDER BY _scd_rank ASC, _scd_sequence_1 DESC)
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
                WHEN _scd_agrees THEN FALSE
                ELSE RAISE_ERROR(
                    '[SCDGEN_CONFLICT] r.t65: two different rows of one key and time: '
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
            _scd_at, _scd_deleted, _scd_stored, _scd_life,
            STRUCT(b) AS _scd_own
        FROM events
        WINDOW
            by_life AS (PARTITION BY id, region, _scd_life ORDER BY _scd_at),
            whole_life AS (
                PARTITION BY id, region, _scd_life ORDER BY _scd_at
                ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
            )
    ),
    opening AS (
        -- Each that is not a delete opens a version.
        SELECT
            *,
            NOT _scd_deleted AS _scd_opens
        FROM given
        WINDOW by_key AS (PARTITION BY id, region ORDER BY _scd_at)
    ),
    kept AS (
        -- A version keeps the values of the change that opened it, or what is stored of it if `compare` sees no change.
        SELECT
            id,
            region,
            CASE
                WHEN _scd_deleted THEN a
                ELSE (LAST_VALUE(_scd_opening) IGNORE NULLS OVER by_key).a
            END AS a,
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
                    WHEN _scd_stored IS NOT NULL
                        AND STRUCT(_scd_stored.a = 'x' AS a, _scd_stored.b IS NULL AS b, _scd_stored.c)
                            <=> STRUCT(a = 'x' AS a, b IS NULL AS b, c)
                        THEN STRUCT(_scd_stored.a, COALESCE(_scd_stored.b, _scd_own.b) AS b)
                    ELSE STRUCT(a, _scd_own.b)
                END AS _scd_opening
            FROM opening
        )
        WINDOW
            by_key AS (PARTITION BY id, region ORDER BY _scd_at),
            by_life AS (PARTITION BY id, region, _scd_life ORDER BY _scd_at)
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
        FROM kept
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
                        a, b, c,
                        CASE WHEN _scd_ends_deleted THEN 'D' WHEN _scd_begins THEN 'I' ELSE 'U' END AS the_action,
                        _scd_next
                    ))
                    THEN IF(_scd_stored._scd_next IS NULL AND _scd_next IS NOT NULL, 'close', 'correct')
            END AS _scd_action,
            id, region, a, b, c,
            _scd_at AS begins,
            COALESCE(_scd_next - INTERVAL '1' DAY, _scd_last_run) AS ends,
            CASE WHEN _scd_next IS NULL THEN 'Y' ELSE 'N' END AS current_flag,
            CASE WHEN _scd_ends_deleted THEN 'D' WHEN _scd_begins THEN 'I' ELSE 'U' END AS the_action
        FROM versions
    )
    SELECT * FROM staged WHERE _scd_action IS NOT NULL
) AS s
    -- A key and a start identify a version.
    ON t.id = s.id AND t.region = s.region AND t.begins = s.begins
-- Redundant: the version before it now has the same values.
WHEN MATCHED AND s._scd_action = 'fold' THEN DELETE
-- A stored version whose end or values change.
WHEN MATCHED THEN
    UPDATE SET a = s.a, b = s.b, c = s.c, ends = s.ends, current_flag = s.current_flag, the_action = s.the_action
-- A version that is not stored yet.
WHEN NOT MATCHED THEN
    INSERT (id, region, a, b, c, begins, ends, current_flag, the_action)
    VALUES (s.id, s.region, s.a, s.b, s.c, s.begins, s.ends, s.current_flag, s.the_action)
-- An open version that the batch does not touch: its end is the time of this run.
WHEN NOT MATCHED BY SOURCE AND t.current_flag = 'Y' AND t.ends <> _scd_last_run THEN
    UPDATE SET ends = _scd_last_run;
