-- r.t15: it's \ number 15 -- of */ many
-- Shows what merge.sql would do: how much, then some of its rows. Writes nothing.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.
-- Set before this runs: DECLARE OR REPLACE VARIABLE taken TIMESTAMP DEFAULT ...;

-- A row per row that the MERGE would write or remove: _scd_old is what is stored, _scd_new what it becomes.
-- And one per key of the source that needs nothing. The steps up to "staged" are those of merge.sql.
CREATE OR REPLACE TEMPORARY VIEW _scd_plan AS
WITH source AS (
    SELECT * FROM incoming_15 WHERE 1 = 1
),
source_rows AS (
    -- The source's rows, with the target's column names and types.
    SELECT
        CAST(id AS INT) AS id,
        CAST(src_a AS STRING) AS a,
        CAST(b AS INT) AS b,
        CAST(c AS STRING) AS c,
        CAST(happened AS TIMESTAMP) AS _scd_at,
        lsn AS _scd_sequence_1
    FROM source
),
extract AS (
    -- A row that breaks a rule stops the statement. EXPLODE: rows that the source leaves out are not tested.
    SELECT *
    FROM source_rows LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
    WHERE
        CASE
            WHEN id IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] r.t15: id is NULL')
            WHEN _scd_at IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_TIME] r.t15: happened is NULL')
            ELSE _scd_kept
        END
    UNION ALL
    -- An empty extract would close every version, so it stops the statement.
    SELECT
        RAISE_ERROR('[SCDGEN_EMPTY_SNAPSHOT] r.t15: the snapshot is empty'),
        NULL, NULL, NULL, NULL, NULL, NULL
    WHERE NOT EXISTS (SELECT 1 FROM source_rows)
    DISTRIBUTE BY id -- one shuffle for the window and the join
),
ranked AS (
    -- Exact copies of a row count once; the row with the greatest sequence wins.
    SELECT
        *,
        RANK() OVER by_key > 1
            OR STRUCT(a, b, c) <=> FIRST_VALUE(STRUCT(a, b, c)) OVER by_key AS _scd_agrees,
        ROW_NUMBER() OVER by_key AS _scd_row
    FROM extract
    WINDOW by_key AS (PARTITION BY id ORDER BY _scd_at DESC, _scd_sequence_1 DESC)
),
snapshot AS (
    -- One row per key; two rows that contradict each other stop the statement.
    SELECT
        id, a, b, c
    FROM ranked
    WHERE
        CASE
            WHEN _scd_row = 1 THEN TRUE
            WHEN _scd_agrees THEN FALSE
            ELSE RAISE_ERROR(
                '[SCDGEN_CONFLICT] r.t15: two different rows of one key and time: '
                || TO_JSON(STRUCT(id, _scd_at))
            )
        END
),
compared AS (
    -- Only keys that differ: missing from the extract, new, or changed.
    SELECT
        CASE
            WHEN o.id IS NULL THEN 'insert'
            WHEN n.id IS NULL THEN 'delete'
            ELSE 'update'
        END AS _scd_action,
        COUNT_IF(n.id IS NULL) OVER () AS _scd_closing,
        COALESCE(n.id, o.id) AS id,
        n.a, n.b, n.c
FROM snapshot AS n
    FULL OUTER JOIN r.t15 AS o
        ON n.id = o.id
    WHERE o.id IS NULL
        OR n.id IS NULL
        OR n.id IS NOT NULL AND NOT (STRUCT(o.a, o.b, o.c) <=> STRUCT(n.a, n.b, n.c))
),
staged AS (
    -- Rows to write; one that breaks a rule stops the statement.
    SELECT *
    FROM compared
    CROSS JOIN (
        SELECT COUNT(*) AS _scd_current
        FROM r.t15 AS t
    )
    WHERE
        CASE
            WHEN _scd_closing > 0.9 * _scd_current
                THEN RAISE_ERROR(
                    '[SCDGEN_MAX_DELETED] r.t15: ' || _scd_closing
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
    CASE WHEN t.id IS NOT NULL THEN STRUCT(t.id, t.a, t.b, t.c) END AS _scd_old,
    CASE WHEN s._scd_action <> 'delete' THEN STRUCT(s.id, s.a, s.b, s.c) END AS _scd_new
FROM staged AS s
FULL OUTER JOIN snapshot AS n
    ON n.id = s.id
LEFT JOIN r.t15 AS t
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
            FROM r.t15
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
