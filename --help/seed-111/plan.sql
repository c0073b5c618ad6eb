-- r.t111: it's \ number 111 -- of */ many
-- Shows what merge.sql would do: how much, then some of its rows. Writes nothing.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.
-- Set before this runs: DECLARE OR REPLACE VARIABLE taken TIMESTAMP DEFAULT ...;

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
    FROM incoming_111
),
extract AS (
    -- A row without a key or a time is left out.
    SELECT *
    FROM source_rows
    WHERE NOT (id IS NULL OR _scd_at IS NULL)
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
        id, a, b, c
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
        COALESCE(n.id, o.id) AS id,
        n.a, n.b, n.c
FROM snapshot AS n
    LEFT JOIN r.t111 AS o
        ON n.id = o.id
    WHERE o.id IS NULL
        OR n.id IS NOT NULL AND NOT (STRUCT(o.a, o.b, o.c) <=> STRUCT(n.a, n.b, n.c))
),
staged AS (
    -- Rows to write.
    SELECT *
    FROM compared
)
SELECT
    CASE s._scd_action
        WHEN 'insert' THEN 'new'
        WHEN 'update' THEN 'changed'
        WHEN 'delete' THEN 'deleted'
        ELSE 'unchanged'
    END AS _scd_action,
    COALESCE(s.id, n.id) AS id,
    CASE WHEN t.id IS NOT NULL THEN STRUCT(t.id, t.a, t.b, t.c) END AS _scd_old,
    CASE WHEN s._scd_action <> 'delete' THEN STRUCT(s.id, s.a, s.b, s.c) END AS _scd_new
FROM staged AS s
FULL OUTER JOIN snapshot AS n
    ON n.id = s.id
LEFT JOIN r.t111 AS t
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
            FROM r.t111
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
    ) AS c
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
