-- r.t266
-- Shows what merge.sql would do: how much, then some of its rows. Writes nothing.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.
-- Set before this runs: DECLARE OR REPLACE VARIABLE last_run TIMESTAMP DEFAULT ...;
-- Set before this runs: DECLARE OR REPLACE VARIABLE taken TIMESTAMP DEFAULT ...;

CREATE OR REPLACE TEMPORARY VIEW _scd_source USING parquet OPTIONS ('path' 'data/x/266/rows', 'mergeSchema' 'false');

DECLARE OR REPLACE VARIABLE least INT;

SET VARIABLE least = CAST(2 AS INT);

-- Every row of the extract takes effect at this time.
DECLARE OR REPLACE VARIABLE _scd_taken_at TIMESTAMP;

SET VARIABLE _scd_taken_at = COALESCE(
    CAST(session.taken AS TIMESTAMP),
    RAISE_ERROR('[SCDGEN_NULL_TIME] r.t266: snapshot.taken_at is NULL')
);

-- The time of this run, written as the end of the open versions.
DECLARE OR REPLACE VARIABLE _scd_last_run TIMESTAMP;

SET VARIABLE _scd_last_run = COALESCE(
    CAST(session.last_run AS TIMESTAMP),
    RAISE_ERROR('[SCDGEN_NULL_TIME] r.t266: the param last_run is NULL; give it a value')
);

-- A row per version that the MERGE would write or remove: _scd_old is what is stored, _scd_new what it becomes.
-- And one per key of the source that needs nothing. The steps up to "staged" are those of merge.sql.
CREATE OR REPLACE TEMPORARY VIEW _scd_plan AS
WITH source_rows AS (
    -- The source's rows, with the target's column names and types.
    SELECT
        CAST(id AS INT) AS id,
        CAST(src_a AS STRING) AS a,
        CAST(b AS INT) AS b,
        CAST(c AS STRING) AS c
    FROM _scd_source
    WHERE (b IS NULL OR b >= session.least)
),
extract AS (
    -- A row without a key is left out.
    SELECT *
    FROM source_rows
    WHERE NOT (id IS NULL)
    UNION ALL
    -- An empty extract would close every version, so it stops the statement.
    SELECT
        RAISE_ERROR('[SCDGEN_EMPTY_SNAPSHOT] r.t266: the snapshot is empty'),
        NULL, NULL, NULL
    WHERE NOT EXISTS (SELECT 1 FROM source_rows WHERE NOT (id IS NULL))
    DISTRIBUTE BY id -- one shuffle for the window and the join
),
ranked AS (
    -- Exact copies of a row count once.
    SELECT
        *,
        LAG(STRUCT(a, b, c)) OVER by_key AS _scd_before
    FROM extract
    WINDOW by_key AS (PARTITION BY id ORDER BY id)
),
snapshot AS (
    -- One row per key; two rows that contradict each other stop the statement.
    SELECT *
    FROM ranked
    WHERE
        CASE
            WHEN _scd_before IS NULL THEN TRUE
            WHEN _scd_before <=> STRUCT(a, b, c) THEN FALSE
            ELSE RAISE_ERROR(
                '[SCDGEN_CONFLICT] r.t266: two different rows of one key: ' || TO_JSON(STRUCT(id))
            )
        END
),
stored AS (
    -- Open versions, and those that ended at the time of this extract or later, as when it is loaded again.
    SELECT
        t.id, t.a, t.b, t.c,
        t.begins AS _scd_from,
        CASE WHEN NOT (t.current_flag = 'Y') THEN t.ends END AS _scd_until,
        COALESCE(id < 70, FALSE) AS _scd_in_scope,
        ROW_NUMBER() OVER newest_first AS _scd_row
    FROM r.t266 AS t
    WHERE (t.current_flag = 'Y' OR t.ends >= _scd_taken_at)
    WINDOW newest_first AS (PARTITION BY t.id ORDER BY t.begins DESC)
    DISTRIBUTE BY id -- like the extract, for the join
),
compared AS (
    -- Only keys that differ: missing from the extract, new, changed, or back again.
    SELECT
        COALESCE(n.id, o.id) AS id,
        n.a, n.b, n.c,
        _scd_taken_at AS _scd_at,
        o._scd_from, o._scd_until,
        CASE
            WHEN n.id IS NULL THEN ARRAY('close')
            WHEN o.id IS NULL THEN ARRAY('open')
            WHEN o._scd_until IS NOT NULL THEN ARRAY('open')
            ELSE ARRAY('close', 'open')
        END AS _scd_actions
    FROM snapshot AS n
    FULL OUTER JOIN (SELECT * FROM stored WHERE _scd_row = 1) AS o
        ON n.id = o.id
    WHERE
        CASE
            WHEN n.id IS NULL THEN o._scd_until IS NULL AND o._scd_in_scope
            WHEN o.id IS NULL OR o._scd_until IS NOT NULL THEN TRUE
            ELSE NOT (_scd_taken_at <= o._scd_from AND STRUCT(n.a = 'x' AS a, n.b, n.c) <=> STRUCT(o.a = 'x' AS a, o.b, o.c))
        END
),
versions AS (
    -- A changed key closes a version and opens another. Closing one that is too new stops the run.
    SELECT
        *,
        CASE WHEN _scd_action = 'open' THEN GREATEST(_scd_at, _scd_until) ELSE _scd_from END AS _scd_start,
        CASE WHEN _scd_action = 'close' THEN _scd_at END AS _scd_next
    FROM compared
        LATERAL VIEW EXPLODE(_scd_actions) p AS _scd_action
    WHERE
        CASE
            WHEN _scd_action = 'close' AND _scd_at <= _scd_from
                THEN RAISE_ERROR(
                    '[SCDGEN_TAKEN_AT] r.t266: the snapshot is not newer than a version that it closes: '
                    || TO_JSON(STRUCT(id, _scd_from))
                )
            ELSE TRUE
        END
),
staged AS (
    -- Rows to write, with their history columns.
    SELECT
        _scd_action,
        id, a, b, c,
        SHA2(TO_JSON(ARRAY(CAST(id AS STRING), CAST(UNIX_MICROS(_scd_start) AS STRING))), 256) AS the_surrogate_key,
        _scd_start AS begins,
        COALESCE(_scd_next, _scd_last_run) AS ends,
        CASE WHEN _scd_next IS NULL THEN 'Y' ELSE 'N' END AS current_flag,
        SHA2(TO_JSON(STRUCT(a, CAST(b AS STRING) AS b, c), MAP('ignoreNullFields', 'true')), 256) AS the_row_hash
    FROM versions
)
SELECT
    CASE _scd_action
        WHEN 'open' THEN 'opened'
        WHEN 'close' THEN 'closed'
        WHEN 'correct' THEN 'corrected'
        WHEN 'fold' THEN 'folded'
        ELSE 'unchanged'
    END AS _scd_action,
    id,
    _scd_start,
    _scd_old,
    _scd_new,
    _scd_action IS NOT NULL AND _scd_stale AS _scd_stale,
    -- Whether the current version of a key ends, and whether the key is deleted by that.
    _scd_current AND (_scd_action <=> 'close' OR NOT _scd_stays) AS _scd_closes,
    _scd_current AND NOT _scd_stays AS _scd_deletes,
    -- What happens to the key, in one of its rows: by whether it is current before and after.
    CASE
        WHEN _scd_action IS NULL THEN 'unchanged'
        WHEN _scd_start > _scd_first_write THEN NULL
        WHEN _scd_lives THEN IF(_scd_stays, 'changed', 'deleted')
        WHEN NOT _scd_known THEN 'new'
        ELSE IF(_scd_stays, 'returned', 'changed')
    END AS _scd_key
FROM (
    SELECT
        s._scd_action,
        COALESCE(s.id, n.id) AS id,
        s.begins AS _scd_start,
        IF(
            t.id IS NOT NULL,
            STRUCT(
                t.id, t.a, t.b, t.c, t.the_surrogate_key, t.begins, t.ends, t.current_flag,
                t.the_row_hash
            ),
            NULL
        ) AS _scd_old,
        STRUCT(
            s.id, CASE WHEN t.id IS NULL THEN s.a ELSE t.a END AS a,
            CASE WHEN t.id IS NULL THEN s.b ELSE t.b END AS b,
            CASE WHEN t.id IS NULL THEN s.c ELSE t.c END AS c,
            CASE WHEN t.id IS NULL THEN s.the_surrogate_key ELSE t.the_surrogate_key END AS the_surrogate_key,
            s.begins, s.ends, s.current_flag,
            CASE WHEN t.id IS NULL THEN s.the_row_hash ELSE t.the_row_hash END AS the_row_hash
        ) AS _scd_new,
        COALESCE(t.current_flag = 'Y' AND t.ends <> _scd_last_run, FALSE) AS _scd_stale,
        t.id IS NOT NULL AND t.current_flag = 'Y' AS _scd_current,
        BOOL_OR(t.id IS NOT NULL AND t.current_flag = 'Y')
            OVER by_key AS _scd_lives,
        BOOL_OR(t.id IS NOT NULL OR k.id IS NOT NULL) OVER by_key AS _scd_known,
        MIN(CASE WHEN s._scd_action IS NOT NULL THEN s.begins END) OVER by_key AS _scd_first_write,
        COALESCE(BOOL_OR(s.current_flag = 'Y') OVER by_key, FALSE) AS _scd_stays
    FROM staged AS s
    FULL OUTER JOIN snapshot AS n
        ON n.id = s.id
    LEFT JOIN r.t266 AS t
        ON t.id = s.id AND t.begins = s.begins AND (t.current_flag = 'Y' OR t.ends >= _scd_taken_at)
    LEFT JOIN (
        -- The keys of the table, those deleted long ago too: they return, and are not new.
        SELECT
            v.id
        FROM r.t266 AS v
        GROUP BY v.id
    ) AS k
        ON k.id = s.id
    WINDOW by_key AS (PARTITION BY COALESCE(s.id, n.id))
);

-- Counts: what happens to the keys and to their versions, and the keys that are current now.
SELECT
    *,
    ROUND(100 * deleted / NULLIF(current_keys, 0), 1) AS deleted_percent
FROM (
    SELECT
        COUNT_IF(_scd_key = 'new') AS new,
        COUNT_IF(_scd_key = 'changed') AS changed,
        COUNT_IF(_scd_key = 'deleted') AS deleted,
        COUNT_IF(_scd_key = 'returned') AS returned,
        COUNT_IF(_scd_key = 'unchanged') AS unchanged,
        COUNT_IF(_scd_action = 'opened') AS opened,
        COUNT_IF(_scd_action = 'closed') AS closed,
        COUNT_IF(_scd_action = 'corrected') AS corrected,
        COUNT_IF(_scd_action = 'folded') AS folded,
        (
            SELECT COUNT(*)
            FROM r.t266 AS t
            WHERE t.current_flag = 'Y' AND t.ends <> _scd_last_run
        ) - COUNT_IF(_scd_stale) AS refreshed,
        COUNT_IF(_scd_closes) AS closed_keys,
        (
            SELECT COUNT(*)
            FROM r.t266 AS t
            WHERE t.current_flag = 'Y'
                AND id < 70
        ) AS current_keys
    FROM _scd_plan
);

-- Some rows of each action; a value that would change is shown as `old -> new`.
SELECT
    _scd_action AS change,
    CONCAT_WS(', ', CASE WHEN _scd_deletes THEN 'deletes' END) AS note,
    id,
    _scd_new.a,
    _scd_new.b,
    _scd_new.c,
    _scd_new.the_surrogate_key,
    _scd_new.begins,
    ARRAY_JOIN(
        ARRAY_DISTINCT(ARRAY(CAST(_scd_old.ends AS STRING), CAST(_scd_new.ends AS STRING))),
        ' -> ', 'NULL'
    ) AS ends,
    ARRAY_JOIN(
        ARRAY_DISTINCT(ARRAY(_scd_old.current_flag, _scd_new.current_flag)),
        ' -> ', 'NULL'
    ) AS current_flag,
    _scd_new.the_row_hash
FROM (
    SELECT
        _scd_action, _scd_deletes, _scd_start, id,
        COALESCE(_scd_old, _scd_new) AS _scd_old,
        COALESCE(_scd_new, _scd_old) AS _scd_new,
        ROW_NUMBER() OVER (PARTITION BY _scd_action, _scd_deletes ORDER BY id, _scd_start) AS _scd_row
    FROM _scd_plan
    WHERE _scd_action <> 'unchanged'
)
WHERE _scd_row <= 5
ORDER BY id, _scd_start, _scd_action;
