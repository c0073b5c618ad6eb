-- r.t80: it's \ number 80 -- of */ many
-- Merges a batch of changes into the history: a late change splits, shortens or extends the versions around it, and
-- removes redundant ones. Each change is a version; one at a stored start replaces the values. A delete ends the
-- version of its key; other keys stay as they are. Stops and writes nothing if a key or time is NULL, rows of one key
-- and time differ, or an earlier row arrives during the run. Repeating the last batch changes nothing.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

DECLARE OR REPLACE VARIABLE least INT;

SET VARIABLE least = CAST(2 AS INT);

-- The time of the earliest change. No version that ended before it can be affected, so Delta can skip those files.
DECLARE OR REPLACE VARIABLE _scd_batch_from DATE;

SET VARIABLE _scd_batch_from = (
    SELECT MIN(CAST(happened AS DATE)) - INTERVAL '1' DAY
    FROM nowhere
    WHERE (b IS NULL OR b >= session.least)
);

MERGE INTO r.t80 AS t USING (
    WITH source_rows AS (
        -- The source's rows, with the target's column names and types.
        SELECT
            CAST(id AS INT) AS id,
            CAST(region AS STRING) AS region,
            CAST(src_a AS STRING) AS a,
            CAST(b AS INT) AS b,
            CAST(c AS STRING) AS c,
            CAST(happened AS DATE) AS _scd_at,
            COALESCE(op = 'D', FALSE) AS _scd_deleted,
            lsn AS _scd_sequence_1
        FROM nowhere
        WHERE (b IS NULL OR b >= session.least)
    ),
    changes AS (
        -- A row that breaks a rule stops the statement. EXPLODE: rows that the source leaves out are not tested.
        SELECT *
        FROM source_rows LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
        WHERE
            CASE
                WHEN id IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] r.t80: id is NULL')
                WHEN region IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] r.t80: region is NULL')
                WHEN _scd_at IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_TIME] r.t80: happened is NULL')
                WHEN _scd_at >= DATE '9999-12-31'
                    THEN RAISE_ERROR('[SCDGEN_NULL_TIME] r.t80: happened is not before the open end')
                WHEN _scd_at - INTERVAL '1' DAY >= _scd_batch_from THEN _scd_kept
                ELSE RAISE_ERROR('[SCDGEN_SOURCE_CHANGED] r.t80: the source changed during the run')
            END
    ),
    timeline AS (
        -- A row per event: a change (rank 1), or the start (2) or end (3) of a version that the batch can affect.
        SELECT id, region, a, b, c, _scd_at, _scd_deleted, _scd_sequence_1, NULL AS _scd_until, 1 AS _scd_rank
        FROM changes
        UNION ALL
        SELECT
            t.id, t.region, t.a, t.b, t.c, _scd_at, _scd_deleted, NULL,
            NULLIF(t.ends, DATE '9999-12-31') + INTERVAL '1' DAY,
            _scd_rank
        FROM r.t80 AS t
        LEFT SEMI JOIN changes AS c ON t.id = c.id AND t.region = c.region
            LATERAL VIEW STACK(
                2, t.begins, FALSE, 2,
                NULLIF(t.ends, DATE '9999-12-31') + INTERVAL '1' DAY, TRUE, 3
            ) p AS _scd_at, _scd_deleted, _scd_rank
        WHERE t.ends >= _scd_batch_from AND _scd_at IS NOT NULL
        DISTRIBUTE BY id, region -- of the whole UNION: one shuffle serves every window
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
            FIRST_VALUE(CASE WHEN _scd_rank = 2 THEN STRUCT(a, b, c, _scd_until AS _scd_next) END)
                IGNORE NULLS OVER (PARTITION BY id, region, _scd_at) AS _scd_stored
        FROM timeline
        WINDOW same_time AS (PARTITION BY id, region, _scd_at ORDER BY _scd_rank ASC, _scd_sequence_1 DESC)
    ),
    events AS (
        -- One event per key and time; two changes that contradict each other stop the statement.
        -- Each that is not a delete opens a version.
        SELECT
            *,
            NOT _scd_deleted AS _scd_opens
        FROM ranked
        WHERE
            CASE
                WHEN _scd_row = 1 THEN TRUE
                WHEN _scd_agrees THEN FALSE
                ELSE RAISE_ERROR(
                    '[SCDGEN_CONFLICT] r.t80: two different rows of one key and time: '
                    || TO_JSON(STRUCT(id, region, _scd_at))
                )
            END
        WINDOW by_key AS (PARTITION BY id, region ORDER BY _scd_at)
    ),
    staged AS (
        -- A version ends at the next start or delete, exclusive. The action is NULL if nothing needs to be written.
        SELECT
            LEAD(_scd_at) OVER (PARTITION BY id, region ORDER BY _scd_at) AS _scd_next,
            CASE
                WHEN _scd_opens AND _scd_stored IS NULL THEN 'open'
                WHEN NOT _scd_opens AND _scd_stored IS NOT NULL THEN 'fold'
                WHEN _scd_opens AND NOT (_scd_stored <=> STRUCT(a, b, c, _scd_next))
                    THEN IF(_scd_stored._scd_next IS NULL AND _scd_next IS NOT NULL, 'close', 'correct')
            END AS _scd_action,
            id, region, a, b, c,
            _scd_at AS begins,
            COALESCE(_scd_next - INTERVAL '1' DAY, DATE '9999-12-31') AS ends
        FROM events
    )
    SELECT * FROM staged WHERE _scd_action IS NOT NULL
) AS s
    -- A key and a start identify a version.
    ON t.id = s.id AND t.region = s.region AND t.begins = s.begins AND t.ends >= _scd_batch_from
-- Redundant: the version before it now has the same values.
WHEN MATCHED AND s._scd_action = 'fold' THEN DELETE
-- A stored version whose end or values change.
WHEN MATCHED THEN
    UPDATE SET a = s.a, b = s.b, c = s.c, ends = s.ends
-- A version that is not stored yet.
WHEN NOT MATCHED THEN
    INSERT (id, region, a, b, c, begins, ends)
    VALUES (s.id, s.region, s.a, s.b, s.c, s.begins, s.ends);
