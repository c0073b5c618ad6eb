-- r.t38
-- Shows what merge.sql would do: how much, then some of its rows. Writes nothing.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.
-- Set before this runs: DECLARE OR REPLACE VARIABLE last_run BIGINT DEFAULT ...;

CREATE OR REPLACE TEMPORARY VIEW _scd_source USING parquet OPTIONS ('path' 'data/x/38/rows', 'mergeSchema' 'false');

-- The time of this run, written as the end of the open versions.
DECLARE OR REPLACE VARIABLE _scd_last_run BIGINT;

SET VARIABLE _scd_last_run = COALESCE(
    CAST(session.last_run AS BIGINT),
    RAISE_ERROR('[SCDGEN_NULL_TIME] r.t38: the param last_run is NULL; give it a value')
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
        CAST(happened AS BIGINT) AS _scd_at,
        CAST(ended AS BIGINT) + 1 AS _scd_until
    FROM _scd_source
),
given AS (
    -- A row that breaks a rule stops the statement. EXPLODE: rows that the source leaves out are not tested.
    -- A row without a key or a time is left out.
    SELECT *
    FROM source_rows LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
    WHERE
        CASE
            WHEN id IS NULL OR region IS NULL OR _scd_at IS NULL THEN FALSE
            WHEN _scd_until <= _scd_at
                THEN RAISE_ERROR('[SCDGEN_END_BEFORE_START] r.t38: ended is before happened')
            ELSE _scd_kept
        END
),
neighbours AS (
    -- Each row with the previous row of its key.
    SELECT
        *,
        LAG(STRUCT(a, b, c, _scd_until, _scd_at)) OVER by_key AS _scd_before
    FROM given
    WINDOW by_key AS (PARTITION BY id, region ORDER BY _scd_at)
),
timeline AS (
    -- Exact copies of a row count once; rows that contradict each other or overlap stop the statement.
    SELECT *
    FROM neighbours
    WHERE
        CASE
            WHEN _scd_before IS NULL THEN TRUE
            WHEN _scd_before <=> STRUCT(a, b, c, _scd_until, _scd_at) THEN FALSE
            WHEN _scd_before._scd_at = _scd_at THEN RAISE_ERROR(
                '[SCDGEN_CONFLICT] r.t38: two different rows of one key and time: '
                || TO_JSON(STRUCT(id, region, _scd_at))
            )
            WHEN _scd_before._scd_until <= _scd_at THEN TRUE
            ELSE RAISE_ERROR(
                '[SCDGEN_OVERLAP] r.t38: a version begins before the one before it has ended: '
                || TO_JSON(STRUCT(id, region, _scd_at))
            )
        END
),
versions AS (
    -- What comes right before and after each version.
    SELECT
        id, region, a, b, c, _scd_at, _scd_until,
        LEAD(_scd_at) OVER by_key AS _scd_following,
        _scd_until IS NOT NULL AND NOT (_scd_until <=> LEAD(_scd_at) OVER by_key) AS _scd_ends_deleted,
        _scd_at IS DISTINCT FROM LAG(_scd_until) OVER by_key AS _scd_begins
    FROM timeline
    WINDOW by_key AS (PARTITION BY id, region ORDER BY _scd_at)
),
marked AS (
    -- A gap is a delete, and a delete is a version that keeps the last known values.
    SELECT
        id, region, a, b, c,
        _scd_start AS _scd_at,
        _scd_next AS _scd_until,
        _scd_deleted, _scd_ends_deleted, _scd_begins
    FROM versions
        LATERAL VIEW STACK(
            2, _scd_at, _scd_until, FALSE, _scd_until, _scd_following, TRUE
        ) p AS _scd_start, _scd_next, _scd_deleted
    WHERE NOT _scd_deleted OR _scd_ends_deleted
),
stored AS (
    -- The stored versions of the source's keys.
    SELECT
        t.id, t.region,
        t.begins AS _scd_at,
        STRUCT(
            t.a, t.b, t.c, t.the_action, COALESCE(t.is_deleted, FALSE) AS _scd_deleted,
            CASE WHEN NOT t.is_current THEN t.ends + 1 END AS _scd_until
        ) AS _scd_stored
    FROM r.t38 AS t
    LEFT SEMI JOIN given AS g ON t.id = g.id AND t.region = g.region
),
staged AS (
    -- Every version of these keys, given or stored; the action is NULL if the stored version is already right.
    SELECT
        CASE
            WHEN _scd_stored IS NULL THEN 'open'
            WHEN n._scd_at IS NULL THEN 'fold'
            WHEN NOT (_scd_stored
                <=> STRUCT(
                    a, b, c,
                    CASE
                        WHEN _scd_deleted THEN 'U'
                        WHEN _scd_ends_deleted THEN 'D'
                        WHEN _scd_begins THEN 'I'
                        ELSE 'U'
                    END
                        AS the_action,
                    _scd_deleted, _scd_until
                ))
                THEN IF(_scd_stored._scd_until IS NULL AND _scd_until IS NOT NULL, 'close', 'correct')
        END AS _scd_action,
        id, region, a, b, c,
        SHA2(TO_JSON(ARRAY(CAST(id AS STRING), region, CAST(_scd_at AS STRING))), 256) AS the_surrogate_key,
        _scd_at AS begins,
        COALESCE(_scd_until - 1, _scd_last_run) AS ends,
        _scd_until IS NULL AS is_current,
        SHA2(TO_JSON(STRUCT(a, CAST(b AS STRING) AS b, c), MAP('ignoreNullFields', 'true')), 256) AS the_row_hash,
        CASE
            WHEN _scd_deleted THEN 'U'
            WHEN _scd_ends_deleted THEN 'D'
            WHEN _scd_begins THEN 'I'
            ELSE 'U'
        END AS the_action,
        _scd_deleted AS is_deleted
    FROM marked AS n
    FULL OUTER JOIN stored USING (id, region, _scd_at)
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
                t.id, t.region, t.a, t.b, t.c, t.the_surrogate_key, t.begins, t.ends, t.is_current,
                t.the_row_hash, t.the_action, t.is_deleted
            ),
            NULL
        ) AS _scd_old,
        IF(
            s._scd_action <> 'fold',
            STRUCT(
                s.id, s.region, s.a, s.b, s.c,
                CASE WHEN t.id IS NULL THEN s.the_surrogate_key ELSE t.the_surrogate_key END AS the_surrogate_key,
                s.begins, s.ends, s.is_current, s.the_row_hash, s.the_action, s.is_deleted
            ),
            NULL
        ) AS _scd_new,
        COALESCE(t.is_current AND t.ends <> _scd_last_run, FALSE) AS _scd_stale,
        COUNT(s._scd_action) OVER by_key = 0 AND ROW_NUMBER() OVER in_order = 1 AS _scd_idle,
        t.id IS NOT NULL AND t.is_current AND NOT t.is_deleted AS _scd_current,
        BOOL_OR(t.id IS NOT NULL AND t.is_current AND NOT t.is_deleted)
            OVER by_key AS _scd_lives,
        BOOL_OR(t.id IS NOT NULL) OVER by_key AS _scd_known,
        MIN(CASE WHEN s._scd_action IS NOT NULL THEN s.begins END) OVER by_key AS _scd_first_write,
        COALESCE(BOOL_OR(CASE
            WHEN s._scd_action IS NULL THEN t.id IS NOT NULL AND t.is_current AND NOT t.is_deleted
            WHEN s._scd_action <> 'fold' THEN s.is_current AND NOT s.is_deleted
        END) OVER by_key, FALSE) AS _scd_stays
    FROM staged AS s
    LEFT JOIN r.t38 AS t
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
            FROM r.t38 AS t
            WHERE t.is_current AND t.ends <> _scd_last_run
        ) - COUNT_IF(_scd_stale) AS refreshed,
        COUNT_IF(_scd_closes) AS closed_keys,
        (
            SELECT COUNT(*)
            FROM r.t38 AS t
            WHERE t.is_current
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
        ARRAY_DISTINCT(ARRAY(CAST(_scd_old.is_current AS STRING), CAST(_scd_new.is_current AS STRING))),
        ' -> ', 'NULL'
    ) AS is_current,
    ARRAY_JOIN(
        ARRAY_DISTINCT(ARRAY(_scd_old.the_row_hash, _scd_new.the_row_hash)),
        ' -> ', 'NULL'
    ) AS the_row_hash,
    ARRAY_JOIN(
        ARRAY_DISTINCT(ARRAY(_scd_old.the_action, _scd_new.the_action)),
        ' -> ', 'NULL'
    ) AS the_action,
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
