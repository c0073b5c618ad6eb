-- r.t49: it's \ number 49 -- of */ many
-- Merges a batch of changes into the history: a late change splits, shortens or extends the versions around it, and
-- removes redundant ones. A change that repeats the values before it opens no version; one at a stored start replaces
-- the values. No change deletes a key; other keys stay as they are. Repeating the last batch changes nothing.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.
-- Set before this runs: DECLARE OR REPLACE VARIABLE last_run TIMESTAMP DEFAULT ...;

-- The time of this run, written as the end of the open versions.
DECLARE OR REPLACE VARIABLE _scd_last_run TIMESTAMP;

SET VARIABLE _scd_last_run = COALESCE(
    CAST(session.last_run AS TIMESTAMP),
    RAISE_ERROR('[SCDGEN_NULL_TIME] r.t49: the param last_run is NULL; give it a value')
);

MERGE INTO r.t49 AS t USING (
    WITH source_rows AS (
        -- The source's rows, with the target's column names and types.
        SELECT
            CAST(id AS INT) AS id,
            CAST(region AS STRING) AS region,
            CAST(src_a AS STRING) AS a,
            CAST(b AS INT) AS b,
            CAST(c AS STRING) AS c,
            CAST(happened AS TIMESTAMP) AS _scd_at,
            lsn AS _scd_sequence_1
        FROM nowhere
    ),
    changes AS (
        -- A row without a key or a time is left out.
        SELECT *
        FROM source_rows
        WHERE NOT (id IS NULL OR region IS NULL OR _scd_at IS NULL)
    ),
    timeline AS (
        -- A row per event: a change (rank 1), or the start (2) or end (3) of a version that the batch can affect.
        SELECT id, region, a, b, c, _scd_at, FALSE AS _scd_deleted, _scd_sequence_1, NULL AS _scd_until, 1 AS _scd_rank
        FROM changes
        UNION ALL
        SELECT
            t.id, t.region, t.a, t.b, t.c, _scd_at, _scd_deleted, NULL,
            CASE WHEN NOT t.is_current THEN t.ends + INTERVAL '1' MILLISECOND END,
            _scd_rank
        FROM r.t49 AS t
        LEFT SEMI JOIN changes AS c ON t.id = c.id AND t.region = c.region
            LATERAL VIEW STACK(
                2, t.begins, FALSE, 2,
                CASE WHEN NOT t.is_current THEN t.ends + INTERVAL '1' MILLISECOND END, TRUE, 3
            ) p AS _scd_at, _scd_deleted, _scd_rank
        WHERE _scd_at IS NOT NULL
        DISTRIBUTE BY id, region -- of the whole UNION: one shuffle serves every window
    ),
    ranked AS (
        -- At one key and time, a change takes precedence over what is stored; the greatest lsn wins.
        SELECT
            *,
            ROW_NUMBER() OVER same_time AS _scd_row,
            FIRST_VALUE(CASE WHEN _scd_rank = 2 THEN STRUCT(a, b, c, _scd_until AS _scd_next) END)
                IGNORE NULLS OVER (PARTITION BY id, region, _scd_at) AS _scd_stored
        FROM timeline
        WINDOW same_time AS (PARTITION BY id, region, _scd_at ORDER BY _scd_rank ASC, _scd_sequence_1 DESC, STRUCT(a, b, c))
    ),
    events AS (
        -- One event per key and time.
        SELECT
            *,
            COUNT_IF(_scd_deleted) OVER by_key AS _scd_life
        FROM ranked
        WHERE _scd_row = 1
        WINDOW by_key AS (PARTITION BY id, region ORDER BY _scd_at)
    ),
    given AS (
        -- NULL in a change means "not given": the last known value stays; before it, the first known one.
        SELECT
            id,
            region,
            CASE
                WHEN _scd_deleted THEN a
                ELSE LAST_VALUE(CASE WHEN NOT _scd_deleted THEN a END) IGNORE NULLS OVER by_life
            END AS a,
            CASE
                WHEN _scd_deleted THEN b
                ELSE LAST_VALUE(CASE WHEN NOT _scd_deleted THEN b END) IGNORE NULLS OVER by_life
            END AS b,
            CASE
                WHEN _scd_deleted THEN c
                ELSE COALESCE(
                        LAST_VALUE(CASE WHEN NOT _scd_deleted THEN c END) IGNORE NULLS OVER by_life,
                        FIRST_VALUE(CASE WHEN NOT _scd_deleted THEN COALESCE(c, _scd_stored.c) END)
                            IGNORE NULLS OVER whole_life
                    )
            END AS c,
            _scd_at, _scd_deleted, _scd_stored
        FROM events
        WINDOW
            by_life AS (PARTITION BY id, region, _scd_life ORDER BY _scd_at),
            whole_life AS (
                PARTITION BY id, region, _scd_life ORDER BY _scd_at
                ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
            )
    ),
    opening AS (
        -- An event opens a version if it differs from the state before it.
        SELECT
            *,
            NOT _scd_deleted
                AND NOT (STRUCT(_scd_deleted, a, b, c) <=> LAG(STRUCT(_scd_deleted, a, b, c)) OVER by_key)
                AS _scd_opens
        FROM given
        WINDOW by_key AS (PARTITION BY id, region ORDER BY _scd_at)
    ),
    staged AS (
        -- A version ends at the next start or delete, exclusive. The action is NULL if nothing needs to be written.
        SELECT
            LEAD(CASE WHEN _scd_opens OR _scd_deleted THEN _scd_at END)
                IGNORE NULLS OVER (PARTITION BY id, region ORDER BY _scd_at) AS _scd_next,
            CASE
                WHEN _scd_opens AND _scd_stored IS NULL THEN 'open'
                WHEN NOT _scd_opens AND _scd_stored IS NOT NULL THEN 'fold'
                WHEN _scd_opens AND NOT (_scd_stored <=> STRUCT(a, b, c, _scd_next))
                    THEN IF(_scd_stored._scd_next IS NULL AND _scd_next IS NOT NULL, 'close', 'correct')
            END AS _scd_action,
            id, region, a, b, c,
            SHA2(
                TO_JSON(ARRAY(CAST(id AS STRING), region, CAST(UNIX_MICROS(_scd_at) AS STRING))), 256
            ) AS the_surrogate_key,
            _scd_at AS begins,
            COALESCE(_scd_next - INTERVAL '1' MILLISECOND, _scd_last_run) AS ends,
            _scd_next IS NULL AS is_current
        FROM opening
    )
    SELECT * FROM staged WHERE _scd_action IS NOT NULL
) AS s
    -- A key and a start identify a version.
    ON t.id = s.id AND t.region = s.region AND t.begins = s.begins
-- Redundant: the version before it now has the same values.
WHEN MATCHED AND s._scd_action = 'fold' THEN DELETE
-- A stored version whose end or values change.
WHEN MATCHED THEN
    UPDATE SET a = s.a, b = s.b, c = s.c, ends = s.ends, is_current = s.is_current
-- A version that is not stored yet.
WHEN NOT MATCHED THEN
    INSERT (id, region, a, b, c, the_surrogate_key, begins, ends, is_current)
    VALUES (s.id, s.region, s.a, s.b, s.c, s.the_surrogate_key, s.begins, s.ends, s.is_current)
-- An open version that the batch does not touch: its end is the time of this run.
WHEN NOT MATCHED BY SOURCE AND t.is_current AND t.ends <> _scd_last_run THEN
    UPDATE SET ends = _scd_last_run;
