-- r.t197
-- Merges a batch of changes into the history: a late change splits, shortens or extends the versions around it, and
-- removes redundant ones. A change that repeats the values before it opens no version; one at a stored start replaces
-- the values. No change deletes a key; other keys stay as they are. Stops and writes nothing if rows of one key and
-- time differ. Repeating the last batch changes nothing.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

CREATE OR REPLACE TEMPORARY VIEW _scd_source USING parquet OPTIONS ('path' 'data/x/197/rows', 'mergeSchema' 'false');

MERGE INTO r.t197 AS t USING (
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
        FROM _scd_source
        WHERE NOT COALESCE(op = 'D', FALSE)
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
        SELECT t.id, t.region, t.a, t.b, t.c, _scd_at, _scd_deleted, NULL, t.ends, _scd_rank
        FROM r.t197 AS t
        LEFT SEMI JOIN changes AS c ON t.id = c.id AND t.region = c.region
            LATERAL VIEW STACK(2, t.begins, FALSE, 2, t.ends, TRUE, 3) p AS _scd_at, _scd_deleted, _scd_rank
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
            FIRST_VALUE(CASE WHEN _scd_rank = 2 THEN STRUCT(a, b, c, _scd_until AS _scd_next) END)
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
                    '[SCDGEN_CONFLICT] r.t197: two different rows of one key and time: '
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
            b,
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
                AND NOT (STRUCT(_scd_deleted, c) <=> LAG(STRUCT(_scd_deleted, c)) OVER by_key)
                AS _scd_opens
        FROM given
        WINDOW by_key AS (PARTITION BY id, region ORDER BY _scd_at)
    ),
    runs AS (
        -- Numbers the versions, to find the newest value of an untracked column in each.
        SELECT
            *,
            COUNT_IF(_scd_opens OR _scd_deleted) OVER (PARTITION BY id, region ORDER BY _scd_at) AS _scd_run
        FROM opening
    ),
    versions AS (
        -- A version lasts until the next version or delete of its key.
        SELECT
            id,
            region,
            LAST_VALUE(a) OVER in_version AS a,
            LAST_VALUE(b) OVER in_version AS b,
            c,
            _scd_at,
            _scd_opens,
            _scd_stored,
            LEAD(CASE WHEN _scd_opens OR _scd_deleted THEN _scd_at END) IGNORE NULLS OVER by_key AS _scd_next
        FROM runs
        WINDOW
            by_key AS (PARTITION BY id, region ORDER BY _scd_at),
            in_version AS (
                PARTITION BY id, region, _scd_run ORDER BY _scd_at
                ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
            )
    ),
    staged AS (
        -- Rows to write; the action is NULL if the stored version is already right.
        SELECT
            CASE
                WHEN _scd_opens AND _scd_stored IS NULL THEN 'open'
                WHEN NOT _scd_opens AND _scd_stored IS NOT NULL THEN 'fold'
                WHEN _scd_opens AND NOT (_scd_stored <=> STRUCT(a, b, c, _scd_next))
                    THEN IF(_scd_stored._scd_next IS NULL AND _scd_next IS NOT NULL, 'close', 'correct')
            END AS _scd_action,
            id, region, a, b, c,
            _scd_at AS begins,
            _scd_next AS ends,
            CASE WHEN _scd_next IS NULL THEN 'Y' ELSE 'N' END AS current_flag
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
    UPDATE SET a = s.a, b = s.b, c = s.c, ends = s.ends, current_flag = s.current_flag
-- A version that is not stored yet.
WHEN NOT MATCHED THEN
    INSERT (id, region, a, b, c, begins, ends, current_flag)
    VALUES (s.id, s.region, s.a, s.b, s.c, s.begins, s.ends, s.current_flag);
