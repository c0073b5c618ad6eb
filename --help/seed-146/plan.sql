-- r.t146
-- Shows what merge.sql would do: how much, then some of its rows. Writes nothing.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.
-- Set before this runs: DECLARE OR REPLACE VARIABLE taken TIMESTAMP DEFAULT ...;

-- Every row of the extract takes effect at this time.
DECLARE OR REPLACE VARIABLE _scd_taken_at TIMESTAMP;

SET VARIABLE _scd_taken_at = CASE
    WHEN CAST(session.taken AS TIMESTAMP) < TIMESTAMP '9999-12-31 23:59:59.999' THEN CAST(session.taken AS TIMESTAMP)
    ELSE RAISE_ERROR('[SCDGEN_NULL_TIME] r.t146: snapshot.taken_at is NULL or not before the open end')
END;

-- A row per version that the MERGE would write or remove: _scd_old is what is stored, _scd_new what it becomes.
-- And one per key of the source that needs nothing. The steps up to "staged" are those of merge.sql.
CREATE OR REPLACE TEMPORARY VIEW _scd_plan AS
WITH source AS (
    SELECT * FROM incoming_146 WHERE 1 = 1
),
source_rows AS (
    -- The source's rows, with the target's column names and types.
    SELECT
        CAST(id AS INT) AS id,
        CAST(src_a AS STRING) AS a,
        CAST(b AS INT) AS b,
        CAST(c AS STRING) AS c
    FROM source
),
extract AS (
    -- A row without a key is left out.
    SELECT *
    FROM source_rows
    WHERE NOT (id IS NULL)
    UNION ALL
    -- An empty extract would close every version, so it stops the statement.
    SELECT
        RAISE_ERROR('[SCDGEN_EMPTY_SNAPSHOT] r.t146: the snapshot is empty'),
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
                '[SCDGEN_CONFLICT] r.t146: two different rows of one key: ' || TO_JSON(STRUCT(id))
            )
        END
),
stored AS (
    -- Open versions, and those that ended at the time of this extract or later, as when it is loaded again.
    SELECT
        t.id, t.a, t.b, t.c,
        t.begins AS _scd_from,
        NULLIF(t.ends, TIMESTAMP '9999-12-31 23:59:59.999') + INTERVAL '1' MICROSECOND AS _scd_until,
        COALESCE(id < 70, FALSE) AS _scd_in_scope,
        ROW_NUMBER() OVER newest_first AS _scd_row
    FROM r.t146 AS t
    WHERE t.ends >= _scd_taken_at - INTERVAL '1' MICROSECOND
    WINDOW newest_first AS (PARTITION BY t.id ORDER BY t.begins DESC)
    DISTRIBUTE BY id -- like the extract, for the join
),
compared AS (
    -- Only keys that differ: new, changed, or back again.
    SELECT
        COALESCE(n.id, o.id) AS id,
        CASE WHEN o._scd_until IS NULL THEN COALESCE(n.a, o.a) ELSE n.a END AS a,
        n.b,
        CASE WHEN o._scd_until IS NULL THEN COALESCE(n.c, o.c) ELSE n.c END AS c,
        _scd_taken_at AS _scd_at,
        o._scd_from, o._scd_until,
        COUNT_IF(n.id IS NULL) OVER () AS _scd_closing,
        NOT (o.id IS NULL) AND o._scd_until IS NULL
            AND (o.a IS NULL AND n.a IS NOT NULL) AS _scd_fills,
        CASE
            WHEN o.id IS NULL THEN ARRAY('open')
            WHEN o._scd_until IS NOT NULL THEN ARRAY('open')
            ELSE ARRAY('close', 'open')
        END AS _scd_actions
    FROM snapshot AS n
    LEFT JOIN (SELECT * FROM stored WHERE _scd_row = 1) AS o
        ON n.id = o.id
    WHERE
        CASE
            WHEN o.id IS NULL OR o._scd_until IS NOT NULL THEN TRUE
            ELSE NOT (_scd_taken_at <= o._scd_from AND STRUCT(
                COALESCE(n.a, CASE WHEN o._scd_until IS NULL THEN o.a END) AS a, n.b,
                COALESCE(n.c, CASE WHEN o._scd_until IS NULL THEN o.c END) AS c
            )
                <=> STRUCT(o.a, o.b, o.c))
        END
),
versions AS (
    -- A changed key closes a version and opens another. Closing one that is too new, or too many, stops the run.
    SELECT
        *,
        CASE WHEN _scd_action = 'open' THEN GREATEST(_scd_at, _scd_until) ELSE _scd_from END AS _scd_start,
        CASE WHEN _scd_action = 'close' THEN _scd_at END AS _scd_next
    FROM compared
    CROSS JOIN (
        SELECT COUNT(*) AS _scd_current
        FROM r.t146 AS t
        WHERE t.ends = TIMESTAMP '9999-12-31 23:59:59.999'
            AND id < 70
    )
        LATERAL VIEW EXPLODE(_scd_actions) p AS _scd_action
    WHERE
        CASE
            WHEN _scd_action = 'close' AND _scd_at <= _scd_from
                THEN RAISE_ERROR(
                    '[SCDGEN_TAKEN_AT] r.t146: the snapshot is not newer than a version that it closes: '
                    || TO_JSON(STRUCT(id, _scd_from))
                )
            WHEN _scd_closing > 0.9 * _scd_current
                THEN RAISE_ERROR(
                    '[SCDGEN_MAX_DELETED] r.t146: ' || _scd_closing
                    || IF(_scd_closing = 1, ' key', ' keys') || ' deleted ('
                    || ROUND(100 * _scd_closing / _scd_current, 1) || ' %; limit 90 %)'
                )
            ELSE TRUE
        END
),
lives AS (
    -- The versions of keys in which a NULL becomes known, and whether a delete follows each.
    SELECT
        t.id, t.a, t.b, t.c,
        t.begins AS _scd_from,
        NULLIF(t.ends, TIMESTAMP '9999-12-31 23:59:59.999') + INTERVAL '1' MICROSECOND AS _scd_until,
        NOT (NULLIF(t.ends, TIMESTAMP '9999-12-31 23:59:59.999') + INTERVAL '1' MICROSECOND <=> LAG(t.begins) OVER newest_first) AS _scd_ends
    FROM r.t146 AS t
    LEFT SEMI JOIN (SELECT * FROM compared WHERE _scd_fills) AS c
        ON t.id = c.id
    WINDOW newest_first AS (PARTITION BY t.id ORDER BY t.begins DESC)
),
filled AS (
    -- What became known is written into the versions since the last delete; a version that closes now gets its end here.
    SELECT
        l.id,
        COALESCE(l.a, c.a) AS a,
        l.b,
        l.c,
        l._scd_from,
        COALESCE(l._scd_until, c._scd_at) AS _scd_until
    FROM (
        SELECT
            *,
            COUNT_IF(_scd_ends) OVER (PARTITION BY id ORDER BY _scd_from DESC) AS _scd_life
        FROM lives
    ) AS l
    JOIN compared AS c
        ON l.id = c.id
    WHERE l._scd_life = 0
        AND c._scd_fills
        AND (l._scd_until IS NOT NULL OR ARRAY_CONTAINS(c._scd_actions, 'close'))
),
staged AS (
    -- Rows to write, with their history columns.
    SELECT
        _scd_action,
        id, a, b, c,
        SHA2(TO_JSON(ARRAY(CAST(id AS STRING), CAST(UNIX_MICROS(_scd_start) AS STRING))), 256) AS the_surrogate_key,
        _scd_start AS begins,
        COALESCE(_scd_next - INTERVAL '1' MICROSECOND, TIMESTAMP '9999-12-31 23:59:59.999') AS ends,
        CASE WHEN _scd_next IS NULL THEN 1 ELSE 0 END AS is_current,
        SHA2(TO_JSON(STRUCT(CAST(b AS STRING) AS b, c), MAP('ignoreNullFields', 'true')), 256) AS the_row_hash
    FROM versions
    WHERE NOT (_scd_fills AND _scd_action = 'close')
    UNION ALL
    SELECT
        'correct' AS _scd_action,
        id, a, b, c,
        SHA2(TO_JSON(ARRAY(CAST(id AS STRING), CAST(UNIX_MICROS(_scd_from) AS STRING))), 256) AS the_surrogate_key,
        _scd_from AS begins,
        COALESCE(_scd_until - INTERVAL '1' MICROSECOND, TIMESTAMP '9999-12-31 23:59:59.999') AS ends,
        CASE WHEN _scd_until IS NULL THEN 1 ELSE 0 END AS is_current,
        SHA2(TO_JSON(STRUCT(CAST(b AS STRING) AS b, c), MAP('ignoreNullFields', 'true')), 256) AS the_row_hash
    FROM filled
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
        CASE WHEN t.ends = TIMESTAMP '9999-12-31 23:59:59.999' AND NOT (s.ends = TIMESTAMP '9999-12-31 23:59:59.999') THEN 'close' ELSE s._scd_action END AS _scd_action,
        COALESCE(s.id, n.id) AS id,
        s.begins AS _scd_start,
        IF(
            t.id IS NOT NULL,
            STRUCT(
                t.id, t.a, t.b, t.c, t.the_surrogate_key, t.begins, t.ends, t.is_current,
                t.the_row_hash
            ),
            NULL
        ) AS _scd_old,
        STRUCT(
            s.id, CASE WHEN s._scd_action = 'close' THEN t.a ELSE s.a END AS a,
            CASE WHEN s._scd_action = 'close' THEN t.b ELSE s.b END AS b,
            CASE WHEN s._scd_action = 'close' THEN t.c ELSE s.c END AS c,
            CASE WHEN t.id IS NULL THEN s.the_surrogate_key ELSE t.the_surrogate_key END AS the_surrogate_key,
            s.begins, s.ends, s.is_current,
            CASE WHEN s._scd_action = 'close' THEN t.the_row_hash ELSE s.the_row_hash END AS the_row_hash
        ) AS _scd_new,
        t.id IS NOT NULL AND t.ends = TIMESTAMP '9999-12-31 23:59:59.999' AS _scd_current,
        BOOL_OR(t.id IS NOT NULL AND t.ends = TIMESTAMP '9999-12-31 23:59:59.999')
            OVER by_key AS _scd_lives,
        BOOL_OR(t.id IS NOT NULL) OVER by_key AS _scd_known,
        MIN(CASE WHEN s._scd_action IS NOT NULL THEN s.begins END) OVER by_key AS _scd_first_write,
        COALESCE(BOOL_OR(s.ends = TIMESTAMP '9999-12-31 23:59:59.999') OVER by_key, FALSE) AS _scd_stays
    FROM staged AS s
    FULL OUTER JOIN snapshot AS n
        ON n.id = s.id
    LEFT JOIN r.t146 AS t
        ON t.id = s.id AND t.begins = s.begins
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
        COUNT_IF(_scd_closes) AS closed_keys,
        (
            SELECT COUNT(*)
            FROM r.t146 AS t
            WHERE t.ends = TIMESTAMP '9999-12-31 23:59:59.999'
                AND id < 70
        ) AS current_keys
    FROM _scd_plan
);

-- Some rows of each action; a value that would change is shown as `old -> new`.
SELECT
    _scd_action AS change,
    CONCAT_WS(', ', CASE WHEN _scd_deletes THEN 'deletes' END) AS note,
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
        ARRAY_DISTINCT(ARRAY(CAST(_scd_old.is_current AS STRING), CAST(_scd_new.is_current AS STRING))),
        ' -> ', 'NULL'
    ) AS is_current,
    ARRAY_JOIN(
        ARRAY_DISTINCT(ARRAY(_scd_old.the_row_hash, _scd_new.the_row_hash)),
        ' -> ', 'NULL'
    ) AS the_row_hash
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
