-- r.t85
-- Shows what merge.sql would do: how much, then some of its rows. Writes nothing.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.
-- Set before this runs: DECLARE OR REPLACE VARIABLE last_run TIMESTAMP DEFAULT ...;

CREATE OR REPLACE TEMPORARY VIEW _scd_source USING parquet OPTIONS ('path' 'data/x/85/rows', 'mergeSchema' 'false');

DECLARE OR REPLACE VARIABLE least INT;

SET VARIABLE least = CAST(2 AS INT);

-- The time of this run, written as the end of the open versions.
DECLARE OR REPLACE VARIABLE _scd_last_run TIMESTAMP;

SET VARIABLE _scd_last_run = COALESCE(
    CAST(session.last_run AS TIMESTAMP),
    RAISE_ERROR('[SCDGEN_NULL_TIME] r.t85: the param last_run is NULL; give it a value')
);

-- A row per version that the MERGE would write or remove: _scd_old is what is stored, _scd_new what it becomes.
-- And one per key of the source that needs nothing. The steps up to "staged" are those of merge.sql.
CREATE OR REPLACE TEMPORARY VIEW _scd_plan AS
WITH source_rows AS (
    -- The source's rows, with the target's column names and types.
    SELECT
        CAST(id AS INT) AS id,
        CAST(region AS STRING) AS region,
        CAST(src_a AS STRING) AS a,
        CAST(b AS INT) AS b,
        CAST(c AS STRING) AS c,
        CAST(happened AS TIMESTAMP) AS _scd_at,
        COALESCE(op = 'D', FALSE) AS _scd_deleted
    FROM _scd_source
    WHERE (b IS NULL OR b >= session.least)
),
changes AS (
    -- A row without a key or a time is left out.
    SELECT *
    FROM source_rows
    WHERE NOT (id IS NULL OR region IS NULL OR _scd_at IS NULL)
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
    FROM r.t85 AS t
    LEFT SEMI JOIN changes AS c ON t.id = c.id AND t.region = c.region
        LATERAL VIEW STACK(
            2,
            t.begins, COALESCE(t.is_deleted, FALSE), 2,
            CASE WHEN NOT (t.current_flag = 'Y') THEN t.ends END, TRUE, 3
        ) p AS _scd_at, _scd_deleted, _scd_rank
    WHERE _scd_at IS NOT NULL
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
        CASE WHEN NOT _scd_deleted THEN STRUCT(a, b, c) END
            <=> FIRST_VALUE(CASE WHEN NOT _scd_deleted THEN STRUCT(a, b, c) END) OVER same_time
            AS _scd_agrees,
        FIRST_VALUE(CASE WHEN _scd_rank = 2 THEN STRUCT(a, b, c, _scd_deleted, _scd_until AS _scd_next) END)
            IGNORE NULLS OVER (PARTITION BY id, region, _scd_at) AS _scd_stored
    FROM newest
    WHERE _scd_rank > 1 OR _scd_newest IS NULL OR _scd_at > _scd_newest
    WINDOW same_time AS (PARTITION BY id, region, _scd_at ORDER BY _scd_rank)
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
            WHEN _scd_rank > 1 OR _scd_agrees THEN FALSE
            ELSE RAISE_ERROR(
                '[SCDGEN_CONFLICT] r.t85: two different rows of one key and time: '
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
        CASE
            WHEN _scd_deleted THEN a
            ELSE COALESCE(
                    LAST_VALUE(CASE WHEN NOT _scd_deleted THEN a END) IGNORE NULLS OVER by_life,
                    FIRST_VALUE(CASE WHEN NOT _scd_deleted THEN COALESCE(a, CASE WHEN NOT _scd_stored._scd_deleted THEN _scd_stored.a END) END)
                        IGNORE NULLS OVER whole_life
                )
        END AS a,
        b,
        c,
        _scd_at, _scd_deleted, _scd_stored, _scd_rank, _scd_oldest, _scd_life,
        STRUCT(a) AS _scd_own
    FROM events
    WINDOW
        by_life AS (PARTITION BY id, region, _scd_life ORDER BY _scd_at),
        whole_life AS (
            PARTITION BY id, region, _scd_life ORDER BY _scd_at
            ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
        )
),
opening AS (
    -- Each opens a version.
    SELECT
        *,
        TRUE AS _scd_opens
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
            ELSE COALESCE(
                LAST_VALUE(_scd_opening.a) IGNORE NULLS OVER by_life,
                FIRST_VALUE(CASE WHEN NOT _scd_deleted THEN a END) IGNORE NULLS OVER by_life
            )
        END AS a,
        CASE
            WHEN _scd_deleted THEN b
            ELSE (LAST_VALUE(_scd_opening) IGNORE NULLS OVER by_key).b
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
                    AND STRUCT(_scd_stored.a = 'x' AS a, least(_scd_stored.b, 1) AS b, _scd_stored.c)
                        <=> STRUCT(a = 'x' AS a, least(b, 1) AS b, c)
                    THEN STRUCT(COALESCE(_scd_stored.a, _scd_own.a) AS a, _scd_stored.b)
                ELSE STRUCT(_scd_own.a, b)
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
staged AS (
    -- A version ends at the next start or delete, exclusive. The action is NULL if nothing needs to be written.
    SELECT
        LEAD(_scd_at) OVER (PARTITION BY id, region ORDER BY _scd_at) AS _scd_next,
        CASE
            WHEN _scd_opens AND _scd_stored IS NULL THEN 'open'
            WHEN NOT _scd_opens AND _scd_stored IS NOT NULL THEN 'fold'
            WHEN _scd_opens AND NOT (_scd_stored <=> STRUCT(a, b, c, _scd_deleted, _scd_next))
                THEN IF(_scd_stored._scd_next IS NULL AND _scd_next IS NOT NULL, 'close', 'correct')
        END AS _scd_action,
        id, region, a, b, c,
        SHA2(
            TO_JSON(ARRAY(CAST(id AS STRING), region, CAST(UNIX_MICROS(_scd_at) AS STRING))), 256
        ) AS the_surrogate_key,
        _scd_at AS begins,
        COALESCE(_scd_next, _scd_last_run) AS ends,
        CASE WHEN _scd_next IS NULL THEN 'Y' ELSE 'N' END AS current_flag,
        SHA2(TO_JSON(STRUCT(a, CAST(b AS STRING) AS b, c), MAP('ignoreNullFields', 'true')), 256) AS the_row_hash,
        _scd_deleted AS is_deleted
    FROM marked
)
SELECT
    CASE _scd_action
        WHEN 'open' THEN 'opened'
        WHEN 'close' THEN 'closed'
        WHEN 'correct' THEN 'corrected'
        WHEN 'fold' THEN 'folded'
        ELSE 'unchanged'
    END AS _scd_action,
    id, region,
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
        s.id,
        s.region,
        s.begins AS _scd_start,
        IF(
            t.id IS NOT NULL,
            STRUCT(
                t.id, t.region, t.a, t.b, t.c, t.the_surrogate_key, t.begins, t.ends, t.current_flag,
                t.the_row_hash, t.is_deleted
            ),
            NULL
        ) AS _scd_old,
        IF(
            s._scd_action <> 'fold',
            STRUCT(
                s.id, s.region, s.a, s.b, s.c,
                CASE WHEN t.id IS NULL THEN s.the_surrogate_key ELSE t.the_surrogate_key END AS the_surrogate_key,
                s.begins, s.ends, s.current_flag, s.the_row_hash, s.is_deleted
            ),
            NULL
        ) AS _scd_new,
        COALESCE(t.current_flag = 'Y' AND t.ends <> _scd_last_run, FALSE) AS _scd_stale,
        COUNT(s._scd_action) OVER by_key = 0 AND ROW_NUMBER() OVER in_order = 1 AS _scd_idle,
        t.id IS NOT NULL AND t.current_flag = 'Y' AND NOT t.is_deleted AS _scd_current,
        BOOL_OR(t.id IS NOT NULL AND t.current_flag = 'Y' AND NOT t.is_deleted)
            OVER by_key AS _scd_lives,
        BOOL_OR(t.id IS NOT NULL) OVER by_key AS _scd_known,
        MIN(CASE WHEN s._scd_action IS NOT NULL THEN s.begins END) OVER by_key AS _scd_first_write,
        COALESCE(BOOL_OR(CASE
            WHEN s._scd_action IS NULL THEN t.id IS NOT NULL AND t.current_flag = 'Y' AND NOT t.is_deleted
            WHEN s._scd_action <> 'fold' THEN s.current_flag = 'Y' AND NOT s.is_deleted
        END) OVER by_key, FALSE) AS _scd_stays
    FROM staged AS s
    LEFT JOIN r.t85 AS t
        ON t.id = s.id AND t.region = s.region AND t.begins = s.begins
    WINDOW
        by_key AS (PARTITION BY s.id, s.region),
        in_order AS (PARTITION BY s.id, s.region ORDER BY s.begins)
)
WHERE _scd_action IS NOT NULL OR _scd_idle;

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
            FROM r.t85 AS t
            WHERE t.current_flag = 'Y' AND t.ends <> _scd_last_run
        ) - COUNT_IF(_scd_stale) AS refreshed,
        COUNT_IF(_scd_closes) AS closed_keys,
        (
            SELECT COUNT(*)
            FROM r.t85 AS t
            WHERE t.current_flag = 'Y'
                AND NOT t.is_deleted
        ) AS current_keys
    FROM _scd_plan
);

-- Some rows of each action; a value that would change is shown as `old -> new`.
SELECT
    _scd_action AS change,
    CONCAT_WS(', ', CASE WHEN _scd_deletes THEN 'deletes' END) AS note,
    id,
    region,
    ARRAY_JOIN(
        ARRAY_DISTINCT(ARRAY(_scd_old.a, _scd_new.a)),
        ' -> ', 'NULL'
    ) AS a,
    ARRAY_JOIN(
        ARRAY_DISTINCT(ARRAY(CAST(_scd_old.b AS STRING), CAST(_scd_new.b AS STRING))),
        ' -> ', 'NULL'
    ) AS b,
    ARRAY_JOIN(
        ARRAY_DISTINCT(ARRAY(_scd_old.c, _scd_new.c)),
        ' -> ', 'NULL'
    ) AS c,
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
    ARRAY_JOIN(
        ARRAY_DISTINCT(ARRAY(_scd_old.the_row_hash, _scd_new.the_row_hash)),
        ' -> ', 'NULL'
    ) AS the_row_hash,
    ARRAY_JOIN(
        ARRAY_DISTINCT(ARRAY(CAST(_scd_old.is_deleted AS STRING), CAST(_scd_new.is_deleted AS STRING))),
        ' -> ', 'NULL'
    ) AS is_deleted
FROM (
    SELECT
        _scd_action, _scd_deletes, _scd_start, id, region,
        COALESCE(_scd_old, _scd_new) AS _scd_old,
        COALESCE(_scd_new, _scd_old) AS _scd_new,
        ROW_NUMBER() OVER (PARTITION BY _scd_action, _scd_deletes ORDER BY id, region, _scd_start) AS _scd_row
    FROM _scd_plan
    WHERE _scd_action <> 'unchanged'
)
WHERE _scd_row <= 5
ORDER BY id, region, _scd_start, _scd_action;
