-- r.t95
-- Shows what merge.sql would do: how much, then some of its rows. Writes nothing.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.
-- Set before this runs: DECLARE OR REPLACE VARIABLE taken TIMESTAMP DEFAULT ...;

CREATE OR REPLACE TEMPORARY VIEW _scd_source USING parquet OPTIONS ('path' 'data/x/95/rows', 'mergeSchema' 'false');

DECLARE OR REPLACE VARIABLE least INT;

SET VARIABLE least = CAST(2 AS INT);

-- Every row of the extract takes effect at this time.
DECLARE OR REPLACE VARIABLE _scd_taken_at TIMESTAMP;

SET VARIABLE _scd_taken_at = COALESCE(
    CAST(session.taken AS TIMESTAMP),
    RAISE_ERROR('[SCDGEN_NULL_TIME] r.t95: snapshot.taken_at is NULL')
);

-- A row per row that the MERGE would write or remove: _scd_old is what is stored, _scd_new what it becomes.
-- And one per key of the source that needs nothing. The steps up to "staged" are those of merge.sql.
CREATE OR REPLACE TEMPORARY VIEW _scd_plan AS
WITH source_rows AS (
    -- The source's rows, with the target's column names and types.
    SELECT
        CAST(id AS INT) AS id,
        CAST(src_a AS STRING) AS a,
        CAST(b AS INT) AS b,
        CAST(c AS STRING) AS c,
        CAST(happened AS TIMESTAMP) AS _scd_at,
        lsn AS _scd_sequence_1
    FROM _scd_source
    WHERE (b IS NULL OR b >= session.least)
),
extract AS (
    -- A row that breaks a rule stops the statement. EXPLODE: rows that the source leaves out are not tested.
    SELECT *
    FROM source_rows LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
    WHERE
        CASE
            WHEN id IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] r.t95: id is NULL')
            WHEN _scd_at IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_TIME] r.t95: happened is NULL')
            ELSE _scd_kept
        END
    UNION ALL
    -- An empty extract would close every version, so it stops the statement.
    SELECT
        RAISE_ERROR('[SCDGEN_EMPTY_SNAPSHOT] r.t95: the snapshot is empty'),
        NULL, NULL, NULL, NULL, NULL, NULL
    WHERE NOT EXISTS (SELECT 1 FROM source_rows)
    DISTRIBUTE BY id -- one shuffle for the window and the join
),
ranked AS (
    -- Exact copies of a row count once; the row with the greatest sequence wins.
    SELECT
        *,
        ROW_NUMBER() OVER by_key AS _scd_row
    FROM extract
    WINDOW by_key AS (PARTITION BY id ORDER BY _scd_at DESC, _scd_sequence_1 DESC, STRUCT(a, b, c))
),
snapshot AS (
    -- One row per key; of different rows any one counts.
    SELECT
        id, a, b, c,
        _scd_at AS changed
    FROM ranked
    WHERE _scd_row = 1
),
compared AS (
    -- Only keys that differ: new, or changed.
    SELECT
        CASE
            WHEN o.id IS NULL THEN 'insert'
            ELSE 'update'
        END AS _scd_action,
        COUNT_IF(n.id IS NULL) OVER () AS _scd_closing,
        COALESCE(n.id, o.id) AS id,
        n.a, n.b, n.c, n.changed
FROM snapshot AS n
    LEFT JOIN (
        SELECT
            *,
            COALESCE(id < 70, FALSE) AS _scd_in_scope
        FROM r.t95 AS t
    ) AS o
        ON n.id = o.id
    WHERE o.id IS NULL
        OR n.id IS NOT NULL AND n.changed >= o.changed AND NOT (STRUCT(o.a, o.b, o.c, o.changed) <=> STRUCT(n.a, n.b, n.c, n.changed))
),
staged AS (
    -- Rows to write; one that breaks a rule stops the statement.
    SELECT *
    FROM compared
    CROSS JOIN (
        SELECT COUNT(*) AS _scd_current
        FROM r.t95 AS t
        WHERE id < 70
    )
    WHERE
        CASE
            WHEN _scd_closing > 0.9 * _scd_current
                THEN RAISE_ERROR(
                    '[SCDGEN_MAX_DELETED] r.t95: ' || _scd_closing
                    || IF(_scd_closing = 1, ' key', ' keys') || ' deleted ('
                    || ROUND(100 * _scd_closing / _scd_current, 1) || ' %; limit 90 %)'
                )
            ELSE TRUE
        END
)
SELECT
    CASE s._scd_action
        WHEN 'insert' THEN 'new'
        WHEN 'update' THEN 'changed'
        WHEN 'delete' THEN 'deleted'
        ELSE 'unchanged'
    END AS _scd_action,
    COALESCE(s.id, n.id) AS id,
    CASE WHEN t.id IS NOT NULL THEN STRUCT(t.id, t.a, t.b, t.c, t.changed) END AS _scd_old,
    CASE WHEN s._scd_action <> 'delete' THEN STRUCT(s.id, s.a, s.b, s.c, s.changed) END AS _scd_new
FROM staged AS s
FULL OUTER JOIN snapshot AS n
    ON n.id = s.id
LEFT JOIN r.t95 AS t
    ON t.id = s.id;

-- Counts: what happens to the keys, and the keys that are there now.
SELECT
    *,
    ROUND(100 * deleted / NULLIF(current_keys, 0), 1) AS deleted_percent
FROM (
    SELECT
        COUNT_IF(_scd_action = 'new') AS new,
        COUNT_IF(_scd_action = 'changed') AS changed,
        COUNT_IF(_scd_action = 'deleted') AS deleted,
        COUNT_IF(_scd_action = 'unchanged') AS unchanged,
        COUNT_IF(_scd_action = 'deleted') AS closed_keys,
        (
            SELECT COUNT(*)
            FROM r.t95 AS t
            WHERE id < 70
        ) AS current_keys
    FROM _scd_plan
);

-- Some rows of each action; a value that would change is shown as `old -> new`.
SELECT
    _scd_action AS change,
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
    ARRAY_JOIN(
        ARRAY_DISTINCT(ARRAY(CAST(_scd_old.changed AS STRING), CAST(_scd_new.changed AS STRING))),
        ' -> ', 'NULL'
    ) AS changed
FROM (
    SELECT
        _scd_action, id,
        COALESCE(_scd_old, _scd_new) AS _scd_old,
        COALESCE(_scd_new, _scd_old) AS _scd_new,
        ROW_NUMBER() OVER (PARTITION BY _scd_action ORDER BY id) AS _scd_row
    FROM _scd_plan
    WHERE _scd_action <> 'unchanged'
)
WHERE _scd_row <= 5
ORDER BY id, _scd_action;
