-- r.t148
-- Shows what merge.sql would do: how much, then some of its rows. Writes nothing.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

CREATE OR REPLACE TEMPORARY VIEW _scd_source USING parquet OPTIONS ('path' 'data/x/148/rows', 'mergeSchema' 'false');

-- A row per version that the MERGE would write or remove: _scd_old is what is stored, _scd_new what it becomes.
-- And one per key of the source that needs nothing. The steps up to "staged" are those of merge.sql.
CREATE OR REPLACE TEMPORARY VIEW _scd_plan AS
WITH source_rows AS (
    -- The source's rows, with the target's column names and types.
    SELECT
        CAST(id AS INT) AS id,
        CAST(src_a AS STRING) AS a,
        CAST(b AS INT) AS b,
        CAST(c AS STRING) AS c,
        CAST(happened AS DATE) AS _scd_at,
        lsn AS _scd_sequence_1
    FROM _scd_source
),
changes AS (
    -- A row that breaks a rule stops the statement. EXPLODE: rows that the source leaves out are not tested.
    SELECT *
    FROM source_rows LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
    WHERE
        CASE
            WHEN id IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] r.t148: id is NULL')
            WHEN _scd_at IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_TIME] r.t148: happened is NULL')
            WHEN _scd_at >= DATE '9999-12-31'
                THEN RAISE_ERROR('[SCDGEN_NULL_TIME] r.t148: happened is not before the open end')
            ELSE _scd_kept
        END
),
timeline AS (
    -- A row per event: a change (rank 1), or the start (2) or end (3) of a version that the batch can affect.
    SELECT id, a, b, c, _scd_at, FALSE AS _scd_deleted, _scd_sequence_1, NULL AS _scd_until, 1 AS _scd_rank
    FROM changes
    UNION ALL
    SELECT
        t.id, t.a, t.b, t.c, _scd_at, _scd_deleted, NULL,
        NULLIF(t.ends, DATE '9999-12-31'),
        _scd_rank
    FROM r.t148 AS t
    LEFT SEMI JOIN changes AS c ON t.id = c.id
        LATERAL VIEW STACK(
            2,
            t.begins, COALESCE(t.is_deleted, FALSE), 2,
            NULLIF(t.ends, DATE '9999-12-31'), TRUE, 3
        ) p AS _scd_at, _scd_deleted, _scd_rank
    WHERE _scd_at IS NOT NULL
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
                '[SCDGEN_CONFLICT] r.t148: two different rows of one key and time: '
                || TO_JSON(STRUCT(id, _scd_at))
            )
        END
    WINDOW by_key AS (PARTITION BY id ORDER BY _scd_at)
),
given AS (
    -- NULL in a change means "not given": the last known value stays; before it, the first known one.
    SELECT
        id,
        CASE
            WHEN _scd_deleted THEN a
            ELSE LAST_VALUE(CASE WHEN NOT _scd_deleted THEN a END) IGNORE NULLS OVER by_life
        END AS a,
        CASE
            WHEN _scd_deleted THEN b
            ELSE COALESCE(
                    LAST_VALUE(CASE WHEN NOT _scd_deleted THEN b END) IGNORE NULLS OVER by_life,
                    FIRST_VALUE(CASE WHEN NOT _scd_deleted THEN COALESCE(b, CASE WHEN NOT _scd_stored._scd_deleted THEN _scd_stored.b END) END)
                        IGNORE NULLS OVER whole_life
                )
        END AS b,
        c,
        _scd_at, _scd_deleted, _scd_stored, _scd_rank, _scd_oldest
    FROM events
    WINDOW
        by_life AS (PARTITION BY id, _scd_life ORDER BY _scd_at),
        whole_life AS (
            PARTITION BY id, _scd_life ORDER BY _scd_at
            ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
        )
),
opening AS (
    -- Each opens a version.
    SELECT
        *,
        TRUE AS _scd_opens
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
staged AS (
    -- A version ends at the next start or delete, exclusive. The action is NULL if nothing needs to be written.
    SELECT
        LEAD(_scd_at) OVER (PARTITION BY id ORDER BY _scd_at) AS _scd_next,
        CASE
            WHEN _scd_opens AND _scd_stored IS NULL THEN 'open'
            WHEN NOT _scd_opens AND _scd_stored IS NOT NULL THEN 'fold'
            WHEN _scd_opens AND NOT (_scd_stored <=> STRUCT(a, b, c, _scd_deleted, _scd_next))
                THEN IF(_scd_stored._scd_next IS NULL AND _scd_next IS NOT NULL, 'close', 'correct')
        END AS _scd_action,
        id, a, b, c,
        SHA2(TO_JSON(ARRAY(CAST(id AS STRING), CAST(_scd_at AS STRING))), 256) AS the_surrogate_key,
        _scd_at AS begins,
        COALESCE(_scd_next, DATE '9999-12-31') AS ends,
        SHA2(TO_JSON(STRUCT(c), MAP('ignoreNullFields', 'true')), 256) AS the_row_hash,
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
    id,
    _scd_start,
    _scd_old,
    _scd_new,
    -- It begins before the newest stored start or delete of its key.
    COALESCE(_scd_start < _scd_newest AND _scd_first < _scd_newest, FALSE) AS _scd_late,
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
        s.begins AS _scd_start,
        IF(
            t.id IS NOT NULL,
            STRUCT(
                t.id, t.a, t.b, t.c, t.the_surrogate_key, t.begins, t.ends, t.the_row_hash,
                t.is_deleted
            ),
            NULL
        ) AS _scd_old,
        IF(
            s._scd_action <> 'fold',
            STRUCT(
                s.id, s.a, s.b, s.c,
                CASE WHEN t.id IS NULL THEN s.the_surrogate_key ELSE t.the_surrogate_key END AS the_surrogate_key,
                s.begins, s.ends, s.the_row_hash, s.is_deleted
            ),
            NULL
        ) AS _scd_new,
        c._scd_first,
        MAX(GREATEST(t.begins, NULLIF(t.ends, DATE '9999-12-31'))) OVER by_key AS _scd_newest,
        COUNT(s._scd_action) OVER by_key = 0 AND ROW_NUMBER() OVER in_order = 1 AS _scd_idle,
        t.id IS NOT NULL AND t.ends = DATE '9999-12-31' AND NOT t.is_deleted AS _scd_current,
        BOOL_OR(t.id IS NOT NULL AND t.ends = DATE '9999-12-31' AND NOT t.is_deleted)
            OVER by_key AS _scd_lives,
        BOOL_OR(t.id IS NOT NULL) OVER by_key AS _scd_known,
        MIN(CASE WHEN s._scd_action IS NOT NULL THEN s.begins END) OVER by_key AS _scd_first_write,
        COALESCE(BOOL_OR(CASE
            WHEN s._scd_action IS NULL THEN t.id IS NOT NULL AND t.ends = DATE '9999-12-31' AND NOT t.is_deleted
            WHEN s._scd_action <> 'fold' THEN s.ends = DATE '9999-12-31' AND NOT s.is_deleted
        END) OVER by_key, FALSE) AS _scd_stays
    FROM staged AS s
    INNER JOIN (
        SELECT
            id,
            MIN(_scd_at) AS _scd_first
        FROM changes
        GROUP BY id
    ) AS c
        ON c.id = s.id
    LEFT JOIN r.t148 AS t
        ON t.id = s.id AND t.begins = s.begins
    WINDOW
        by_key AS (PARTITION BY s.id),
        in_order AS (PARTITION BY s.id ORDER BY s.begins)
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
        COUNT_IF(_scd_late AND _scd_action <> 'unchanged') AS late,
        COUNT_IF(_scd_closes) AS closed_keys,
        (
            SELECT COUNT(*)
            FROM r.t148 AS t
            WHERE t.ends = DATE '9999-12-31'
                AND NOT t.is_deleted
        ) AS current_keys
    FROM _scd_plan
);

-- Some rows of each action; a value that would change is shown as `old -> new`.
SELECT
    _scd_action AS change,
    CONCAT_WS(', ', CASE WHEN _scd_late THEN 'late' END, CASE WHEN _scd_deletes THEN 'deletes' END) AS note,
    id,
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
        ARRAY_DISTINCT(ARRAY(_scd_old.the_row_hash, _scd_new.the_row_hash)),
        ' -> ', 'NULL'
    ) AS the_row_hash,
    ARRAY_JOIN(
        ARRAY_DISTINCT(ARRAY(CAST(_scd_old.is_deleted AS STRING), CAST(_scd_new.is_deleted AS STRING))),
        ' -> ', 'NULL'
    ) AS is_deleted
FROM (
    SELECT
        _scd_action, _scd_deletes, _scd_late, _scd_start, id,
        COALESCE(_scd_old, _scd_new) AS _scd_old,
        COALESCE(_scd_new, _scd_old) AS _scd_new,
        ROW_NUMBER() OVER (PARTITION BY _scd_action, _scd_deletes ORDER BY id, _scd_start) AS _scd_row
    FROM _scd_plan
    WHERE _scd_action <> 'unchanged'
)
WHERE _scd_row <= 5
ORDER BY id, _scd_start, _scd_action;
