-- r.t260: it's \ number 260 -- of */ many
-- Merges a batch of changes into the history: a change that is not newer than what is stored of its key is left out. A
-- change that repeats the values before it opens no version; one at a stored start replaces the values. A delete is a
-- version, too; other keys stay as they are. Stops and writes nothing if an earlier row arrives during the run.
-- Repeating the last batch changes nothing.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.
-- Set before this runs: DECLARE OR REPLACE VARIABLE last_run TIMESTAMP DEFAULT ...;

DECLARE OR REPLACE VARIABLE least INT;

SET VARIABLE least = CAST(2 AS INT);

-- The time of this run, written as the end of the open versions.
DECLARE OR REPLACE VARIABLE _scd_last_run TIMESTAMP;

SET VARIABLE _scd_last_run = COALESCE(
    CAST(session.last_run AS TIMESTAMP),
    RAISE_ERROR('[SCDGEN_NULL_TIME] r.t260: the param last_run is NULL; give it a value')
);

-- The time of the earliest change. No version that ended before it can be affected, so Delta can skip those files.
DECLARE OR REPLACE VARIABLE _scd_batch_from TIMESTAMP;

SET VARIABLE _scd_batch_from = (
    WITH source AS (
        SELECT * FROM incoming_260 WHERE 1 = 1
    )
    SELECT MIN(CAST(happened AS TIMESTAMP))
    FROM source
    WHERE (b IS NULL OR b >= session.least)
);

MERGE INTO r.t260 AS t USING (
    WITH source AS (
        SELECT * FROM incoming_260 WHERE 1 = 1
    ),
    source_rows AS (
        -- The source's rows, with the target's column names and types.
        SELECT
            CAST(id AS INT) AS id,
            CAST(region AS STRING) AS region,
            CAST(src_a AS STRING) AS a,
            CAST(b AS INT) AS b,
            CAST(c AS STRING) AS c,
            CAST(happened AS TIMESTAMP) AS _scd_at,
            COALESCE(op = 'D', FALSE) AS _scd_deleted
        FROM source
        WHERE (b IS NULL OR b >= session.least)
    ),
    changes AS (
        -- A row that breaks a rule stops the statement. EXPLODE: rows that the source leaves out are not tested.
        -- A row without a key or a time is left out.
        SELECT *
        FROM source_rows LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
        WHERE
            CASE
                WHEN id IS NULL OR region IS NULL OR _scd_at IS NULL THEN FALSE
                WHEN _scd_at >= _scd_batch_from THEN _scd_kept
                ELSE RAISE_ERROR('[SCDGEN_SOURCE_CHANGED] r.t260: the source changed during the run')
            END
    ),
    timeline AS (
        -- A row per event: a change (rank 1), or the start (2) or end (3) of a version that the batch can affect.
        SELECT id, region, a, b, c, _scd_at, _scd_deleted, NULL AS _scd_until, 1 AS _scd_rank
        FROM changes
        UNION ALL
        SELECT
            t.id, t.region, t.a, t.b, t.c, _scd_at, _scd_deleted,
            CASE WHEN NOT (t.current_flag = 'Y') THEN t.ends END,
            _scd_rank
        FROM r.t260 AS t
        LEFT SEMI JOIN changes AS c ON t.id = c.id AND t.region = c.region
            LATERAL VIEW STACK(
                2,
                t.begins, COALESCE(t.is_deleted, FALSE), 2,
                CASE WHEN NOT (t.current_flag = 'Y') THEN t.ends END, TRUE, 3
            ) p AS _scd_at, _scd_deleted, _scd_rank
        WHERE (t.current_flag = 'Y' OR t.ends >= _scd_batch_from) AND _scd_at IS NOT NULL
        DISTRIBUTE BY id, region -- of the whole UNION: one shuffle serves every window
    ),
    newest AS (
        -- The newest start or delete that is stored of each key: what is not later than it is late.
        SELECT
            *,
            MAX(CASE WHEN _scd_rank > 1 THEN _scd_at END) OVER (PARTITION BY id, region) AS _scd_newest
        FROM timeline
    ),
    ranked AS (
        -- At one key and time, a change takes precedence over what is stored.
        SELECT
            *,
            ROW_NUMBER() OVER same_time AS _scd_row,
            FIRST_VALUE(CASE WHEN _scd_rank = 2 THEN STRUCT(a, b, c, _scd_deleted, _scd_until AS _scd_next) END)
                IGNORE NULLS OVER (PARTITION BY id, region, _scd_at) AS _scd_stored
        FROM newest
        WHERE _scd_rank > 1 OR _scd_newest IS NULL OR _scd_at > _scd_newest
        WINDOW same_time AS (PARTITION BY id, region, _scd_at ORDER BY _scd_rank, _scd_deleted DESC, STRUCT(a, b, c))
    ),
    events AS (
        -- One event per key and time.
        SELECT
            *,
            LAG(_scd_at) OVER by_key IS NULL AS _scd_oldest,
            COUNT_IF(_scd_deleted) OVER by_key AS _scd_life
        FROM ranked
        WHERE _scd_row = 1
        WINDOW by_key AS (PARTITION BY id, region ORDER BY _scd_at)
    ),
    given AS (
        -- NULL in a change means "not given": the last known value stays.
        SELECT
            id,
            region,
            a,
            CASE
                WHEN _scd_deleted THEN b
                ELSE LAST_VALUE(CASE WHEN NOT _scd_deleted THEN b END) IGNORE NULLS OVER by_life
            END AS b,
            CASE
                WHEN _scd_deleted THEN c
                ELSE LAST_VALUE(CASE WHEN NOT _scd_deleted THEN c END) IGNORE NULLS OVER by_life
            END AS c,
            _scd_at, _scd_deleted, _scd_stored, _scd_rank, _scd_oldest, _scd_life,
            STRUCT(b) AS _scd_own
        FROM events
        WINDOW
            by_life AS (PARTITION BY id, region, _scd_life ORDER BY _scd_at)
    ),
    opening AS (
        -- An event opens a version if it differs from the state before it.
        SELECT
            *,
            CASE
                WHEN _scd_deleted THEN COALESCE(NOT LAG(_scd_deleted) OVER by_key, _scd_rank = 2)
                ELSE NOT (STRUCT(_scd_deleted, b IS NULL AS b, c)
                    <=> LAG(STRUCT(_scd_deleted, b IS NULL AS b, c)) OVER by_key)
            END
                AS _scd_opens
        FROM given
        WINDOW by_key AS (PARTITION BY id, region ORDER BY _scd_at)
    ),
    kept AS (
        -- A version keeps the values of the change that opened it, or what is stored of it if `compare` sees no change.
        SELECT
            id,
            region,
            a,
            CASE
                WHEN _scd_deleted THEN b
                ELSE LAST_VALUE(_scd_opening.b) IGNORE NULLS OVER by_life
            END AS b,
            c,
            _scd_at, _scd_deleted, _scd_stored, _scd_rank, _scd_oldest, _scd_opens
        FROM (
            SELECT
                *,
                CASE
                    WHEN NOT _scd_opens OR _scd_deleted THEN NULL
                    WHEN _scd_stored IS NOT NULL
                        AND NOT _scd_stored._scd_deleted
                        AND STRUCT(_scd_stored.b IS NULL AS b, _scd_stored.c) <=> STRUCT(b IS NULL AS b, c)
                        THEN STRUCT(COALESCE(_scd_stored.b, _scd_own.b) AS b)
                    ELSE STRUCT(_scd_own.b)
                END AS _scd_opening
            FROM opening
        )
        WINDOW
            by_key AS (PARTITION BY id, region ORDER BY _scd_at),
            by_life AS (PARTITION BY id, region, _scd_life ORDER BY _scd_at)
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
        FROM kept
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
    runs AS (
        -- Numbers the versions, to find the newest value of an untracked column in each.
        SELECT
            *,
            COUNT_IF(_scd_opens) OVER (PARTITION BY id, region ORDER BY _scd_at) AS _scd_run
        FROM marked
    ),
    versions AS (
        -- A version lasts until the next version of its key.
        SELECT
            id,
            region,
            LAST_VALUE(a) OVER in_version AS a,
            b,
            c,
            _scd_at,
            _scd_deleted,
            _scd_opens,
            _scd_stored,
            LEAD(CASE WHEN _scd_opens THEN _scd_at END) IGNORE NULLS OVER by_key AS _scd_next
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
                WHEN _scd_opens AND NOT (_scd_stored <=> STRUCT(a, b, c, _scd_deleted, _scd_next))
                    THEN IF(_scd_stored._scd_next IS NULL AND _scd_next IS NOT NULL, 'close', 'correct')
            END AS _scd_action,
            id, region, a, b, c,
            _scd_at AS begins,
            COALESCE(_scd_next, _scd_last_run) AS ends,
            CASE WHEN _scd_next IS NULL THEN 'Y' ELSE 'N' END AS current_flag,
            SHA2(TO_JSON(STRUCT(CAST(b AS STRING) AS b, c), MAP('ignoreNullFields', 'true')), 256) AS the_row_hash,
            _scd_deleted AS is_deleted
        FROM versions
    )
    SELECT * FROM staged WHERE _scd_action IS NOT NULL
) AS s
    -- A key and a start identify a version.
    ON t.id = s.id
        AND t.region = s.region
        AND t.begins = s.begins
        AND (t.current_flag = 'Y' OR t.ends >= _scd_batch_from)
-- Redundant: the version before it now has the same values.
WHEN MATCHED AND s._scd_action = 'fold' THEN DELETE
-- A stored version whose end or values change.
WHEN MATCHED THEN
    UPDATE SET
        a = s.a, b = s.b, c = s.c, ends = s.ends, current_flag = s.current_flag, the_row_hash = s.the_row_hash,
        is_deleted = s.is_deleted
-- A version that is not stored yet.
WHEN NOT MATCHED THEN
    INSERT (id, region, a, b, c, begins, ends, current_flag, the_row_hash, is_deleted)
    VALUES (s.id, s.region, s.a, s.b, s.c, s.begins, s.ends, s.current_flag, s.the_row_hash, s.is_deleted)
-- An open version that the batch does not touch: its end is the time of this run.
WHEN NOT MATCHED BY SOURCE AND t.current_flag = 'Y' AND t.ends <> _scd_last_run THEN
    UPDATE SET ends = _scd_last_run;
