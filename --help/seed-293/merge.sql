-- r.t293: it's \ number 293 -- of */ many
-- Merges a batch of changes into the history: a change that is not newer than what is stored of its key stops the
-- statement. Each change is a version; one at a stored start replaces the values. A delete is a version, too; other
-- keys stay as they are. Stops and writes nothing if rows of one key and time differ, or an earlier row arrives during
-- the run. Repeating the last batch changes nothing.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The time of the earliest change. No version that ended before it can be affected, so Delta can skip those files.
DECLARE OR REPLACE VARIABLE _scd_batch_from DATE;

SET VARIABLE _scd_batch_from = (SELECT MIN(CAST(happened AS DATE)) - INTERVAL '1' DAY FROM incoming_293);

MERGE INTO r.t293 AS t USING (
    WITH source_rows AS (
        -- The source's rows, with the target's column names and types.
        SELECT
            CAST(id AS INT) AS id,
            CAST(src_a AS STRING) AS a,
            CAST(b AS INT) AS b,
            CAST(c AS STRING) AS c,
            CAST(happened AS DATE) AS _scd_at,
            COALESCE(op = 'D', FALSE) AS _scd_deleted,
            lsn AS _scd_sequence_1
        FROM incoming_293
    ),
    changes AS (
        -- A row that breaks a rule stops the statement. EXPLODE: rows that the source leaves out are not tested.
        -- A row without a key or a time is left out.
        SELECT *
        FROM source_rows LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
        WHERE
            CASE
                WHEN id IS NULL OR _scd_at IS NULL THEN FALSE
                WHEN _scd_at - INTERVAL '1' DAY >= _scd_batch_from THEN _scd_kept
                ELSE RAISE_ERROR('[SCDGEN_SOURCE_CHANGED] r.t293: the source changed during the run')
            END
    ),
    timeline AS (
        -- A row per event: a change (rank 1), or the start (2) or end (3) of a version that the batch can affect.
        SELECT
            id, a, b, c, _scd_at, _scd_deleted, _scd_sequence_1,
            NULL AS _scd_until,
            NULL AS the_action,
            1 AS _scd_rank
        FROM changes
        UNION ALL
        SELECT t.id, t.a, t.b, t.c, _scd_at, _scd_deleted, NULL, t.ends + INTERVAL '1' DAY, t.the_action, _scd_rank
        FROM r.t293 AS t
        LEFT SEMI JOIN changes AS c ON t.id = c.id
            LATERAL VIEW STACK(
                2,
                t.begins, COALESCE(t.is_deleted, FALSE), 2,
                t.ends + INTERVAL '1' DAY, TRUE, 3
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
        -- At one key and time, a change takes precedence over what is stored; the greatest lsn wins.
        SELECT
            *,
            ROW_NUMBER() OVER same_time AS _scd_row,
            RANK() OVER same_time > 1
                OR CASE WHEN NOT _scd_deleted THEN STRUCT(a, b, c) END
                <=> FIRST_VALUE(CASE WHEN NOT _scd_deleted THEN STRUCT(a, b, c) END) OVER same_time
                AS _scd_agrees,
            FIRST_VALUE(CASE WHEN _scd_rank = 2 THEN STRUCT(a, b, c, the_action, _scd_deleted, _scd_until AS _scd_next) END)
                IGNORE NULLS OVER (PARTITION BY id, _scd_at) AS _scd_stored
        FROM newest
        WHERE
            CASE
                WHEN _scd_rank = 1 AND _scd_at <= _scd_newest THEN RAISE_ERROR(
                    '[SCDGEN_LATE] r.t293: a late row: ' || TO_JSON(STRUCT(id, _scd_at))
                )
                ELSE TRUE
            END
        WINDOW same_time AS (PARTITION BY id, _scd_at ORDER BY _scd_rank ASC, _scd_sequence_1 DESC)
    ),
    events AS (
        -- One event per key and time; two changes that contradict each other stop the statement.
        -- Each opens a version.
        SELECT
            *,
            LAG(_scd_at) OVER by_key IS NULL AS _scd_oldest,
            TRUE AS _scd_opens
        FROM ranked
        WHERE
            CASE
                WHEN _scd_row = 1 THEN TRUE
                WHEN _scd_agrees THEN FALSE
                ELSE RAISE_ERROR(
                    '[SCDGEN_CONFLICT] r.t293: two different rows of one key and time: '
                    || TO_JSON(STRUCT(id, _scd_at))
                )
            END
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
        FROM events
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
    versions AS (
        -- A version lasts until the next version of its key.
        SELECT
            *,
            COALESCE(LAG(_scd_deleted) OVER by_key, TRUE) AS _scd_begins,
            COALESCE(
                LEAD(_scd_deleted) OVER by_key,
                FALSE
            ) AS _scd_ends_deleted,
            LEAD(_scd_at) OVER by_key AS _scd_next
        FROM marked
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
                        _scd_deleted, _scd_next
                    ))
                    THEN IF(_scd_stored._scd_next IS NULL AND _scd_next IS NOT NULL, 'close', 'correct')
            END AS _scd_action,
            id, a, b, c,
            _scd_at AS begins,
            _scd_next - INTERVAL '1' DAY AS ends,
            CASE WHEN _scd_next IS NULL THEN 'Y' ELSE 'N' END AS current_flag,
            CASE WHEN _scd_ends_deleted THEN 'D' WHEN _scd_begins THEN 'I' ELSE 'U' END AS the_action,
            _scd_deleted AS is_deleted
        FROM versions
    )
    SELECT * FROM staged WHERE _scd_action IS NOT NULL
) AS s
    -- A key and a start identify a version.
    ON t.id = s.id AND t.begins = s.begins AND (t.ends IS NULL OR t.ends >= _scd_batch_from)
-- Redundant: the version before it now has the same values.
WHEN MATCHED AND s._scd_action = 'fold' THEN DELETE
-- A stored version whose end or values change.
WHEN MATCHED THEN
    UPDATE SET
        a = s.a, b = s.b, c = s.c, ends = s.ends, current_flag = s.current_flag, the_action = s.the_action,
        is_deleted = s.is_deleted
-- A version that is not stored yet.
WHEN NOT MATCHED THEN
    INSERT (id, a, b, c, begins, ends, current_flag, the_action, is_deleted)
    VALUES (s.id, s.a, s.b, s.c, s.begins, s.ends, s.current_flag, s.the_action, s.is_deleted);
