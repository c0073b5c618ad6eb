-- r.t209: it's \ number 209 -- of */ many
-- Merges a batch of changes into the history: a late change splits, shortens or extends the versions around it, and
-- removes redundant ones. A change that repeats the values before it opens no version; one at a stored start replaces
-- the values. No change deletes a key; other keys stay as they are. Stops and writes nothing if a key or time is NULL,
-- rows of one key and time differ, or an earlier row arrives during the run. Repeating the last batch changes nothing.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

CREATE OR REPLACE TEMPORARY VIEW _scd_source USING parquet OPTIONS ('path' 'data/x/209/rows', 'mergeSchema' 'false');

DECLARE OR REPLACE VARIABLE least INT;

SET VARIABLE least = CAST(2 AS INT);

-- The time of the earliest change. No version that ended before it can be affected, so Delta can skip those files.
DECLARE OR REPLACE VARIABLE _scd_batch_from BIGINT;

SET VARIABLE _scd_batch_from = (
    SELECT MIN(CAST(happened AS BIGINT)) - 10
    FROM _scd_source
    WHERE (b IS NULL OR b >= session.least)
);

MERGE INTO r.t209 AS t USING (
    WITH source_rows AS (
        -- The source's rows, with the target's column names and types.
        SELECT
            CAST(id AS INT) AS id,
            CAST(src_a AS STRING) AS a,
            CAST(b AS INT) AS b,
            CAST(c AS STRING) AS c,
            CAST(happened AS BIGINT) AS _scd_at,
            lsn AS _scd_sequence_1
        FROM _scd_source
        WHERE (b IS NULL OR b >= session.least)
    ),
    changes AS (
        -- A row that breaks a rule stops the statement. EXPLODE: rows that the source leaves out are not tested.
        SELECT *
        FROM source_rows LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
        WHERE
            CASE
                WHEN id IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] r.t209: id is NULL')
                WHEN _scd_at IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_TIME] r.t209: happened is NULL')
                WHEN _scd_at - 10 >= _scd_batch_from THEN _scd_kept
                ELSE RAISE_ERROR('[SCDGEN_SOURCE_CHANGED] r.t209: the source changed during the run')
            END
    ),
    timeline AS (
        -- A row per event: a change (rank 1), or the start (2) or end (3) of a version that the batch can affect.
        SELECT id, a, b, c, _scd_at, FALSE AS _scd_deleted, _scd_sequence_1, NULL AS _scd_until, 1 AS _scd_rank
        FROM changes
        UNION ALL
        SELECT t.id, t.a, t.b, t.c, _scd_at, _scd_deleted, NULL, t.ends + 10, _scd_rank
        FROM r.t209 AS t
        LEFT SEMI JOIN changes AS c ON t.id = c.id
            LATERAL VIEW STACK(
                2,
                t.begins, COALESCE(t.is_deleted, FALSE), 2,
                t.ends + 10, TRUE, 3
            ) p AS _scd_at, _scd_deleted, _scd_rank
        WHERE (t.ends IS NULL OR t.ends >= _scd_batch_from) AND _scd_at IS NOT NULL
        DISTRIBUTE BY id -- of the whole UNION: one shuffle serves every window
    ),
    ranked AS (
        -- At one key and time, a change takes precedence over what is stored; the greatest lsn wins.
        SELECT
            *,
            ROW_NUMBER() OVER same_time AS _scd_row,
            RANK() OVER same_time > 1
                OR STRUCT(a, b, c) <=> FIRST_VALUE(STRUCT(a, b, c)) OVER same_time AS _scd_agrees,
            FIRST_VALUE(CASE WHEN _scd_rank = 2 THEN STRUCT(a, b, c, _scd_deleted, _scd_until AS _scd_next) END)
                IGNORE NULLS OVER (PARTITION BY id, _scd_at) AS _scd_stored
        FROM timeline
        WINDOW same_time AS (PARTITION BY id, _scd_at ORDER BY _scd_rank ASC, _scd_sequence_1 DESC)
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
                    '[SCDGEN_CONFLICT] r.t209: two different rows of one key and time: '
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
            _scd_at, _scd_deleted, _scd_stored, _scd_rank, _scd_oldest
        FROM events
        WINDOW
            by_life AS (PARTITION BY id, _scd_life ORDER BY _scd_at)
    ),
    opening AS (
        -- An event opens a version if it differs from the state before it.
        SELECT
            *,
            CASE
                WHEN _scd_deleted THEN COALESCE(NOT LAG(_scd_deleted) OVER by_key, _scd_rank = 2)
                ELSE NOT (STRUCT(_scd_deleted, b) <=> LAG(STRUCT(_scd_deleted, b)) OVER by_key)
            END
                AS _scd_opens
        FROM given
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
        FROM opening
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
    runs AS (
        -- Numbers the versions, to find the newest value of an untracked column in each.
        SELECT
            *,
            COUNT_IF(_scd_opens) OVER (PARTITION BY id ORDER BY _scd_at) AS _scd_run
        FROM marked
    ),
    versions AS (
        -- A version lasts until the next version of its key.
        SELECT
            id,
            LAST_VALUE(a) OVER in_version AS a,
            b,
            LAST_VALUE(c) OVER in_version AS c,
            _scd_at,
            _scd_deleted,
            _scd_opens,
            _scd_stored,
            LEAD(CASE WHEN _scd_opens THEN _scd_at END) IGNORE NULLS OVER by_key AS _scd_next
        FROM runs
        WINDOW
            by_key AS (PARTITION BY id ORDER BY _scd_at),
            in_version AS (
                PARTITION BY id, _scd_run ORDER BY _scd_at
                ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
            )
    ),
    staged AS (
        -- Rows to write; the action is NULL if the stored version is already right.
        SELECT
            CASE
                WHEN _scd_opens AND _scd_stored IS NULL THEN 'open'
                WHEN NOT _scd_opens AND _scd_stored IS NOT NULL THEN 'fold'
                WHEN _scd_opens AND NOT (_scd_stored <=> STRUCT(a, b, c, _scd_deleted, _scd_next))
                    THEN IF(_scd_stored._scd_next IS NULL AND _scd_next IS NOT NULL, 'close', 'correct')
            END AS _scd_action,
            id, a, b, c,
            _scd_at AS begins,
            _scd_next - 10 AS ends,
            CASE WHEN _scd_next IS NULL THEN 'Y' ELSE 'N' END AS current_flag,
            SHA2(TO_JSON(STRUCT(CAST(b AS STRING) AS b), MAP('ignoreNullFields', 'true')), 256) AS the_row_hash,
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
        a = s.a, b = s.b, c = s.c, ends = s.ends, current_flag = s.current_flag, the_row_hash = s.the_row_hash,
        is_deleted = s.is_deleted
-- A version that is not stored yet.
WHEN NOT MATCHED THEN
    INSERT (id, a, b, c, begins, ends, current_flag, the_row_hash, is_deleted)
    VALUES (s.id, s.a, s.b, s.c, s.begins, s.ends, s.current_flag, s.the_row_hash, s.is_deleted);
