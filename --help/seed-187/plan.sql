-- r.t187
-- Shows what merge.sql would do: how much, then some of its rows. Writes nothing.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- A row per row that the MERGE would write or remove: _scd_old is what is stored, _scd_new what it becomes.
-- And one per key of the source that needs nothing. The steps up to "latest" are those of merge.sql.
CREATE OR REPLACE TEMPORARY VIEW _scd_plan AS
WITH source AS (
    SELECT * FROM incoming_187 WHERE 1 = 1
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
changes AS (
    -- A row without a key or a time is left out.
    SELECT *
    FROM source_rows
    WHERE NOT (id IS NULL OR _scd_at IS NULL)
),
ranked AS (
    -- The rows of each key, the newest first.
    SELECT
        *,
        ROW_NUMBER() OVER by_key AS _scd_row
    FROM changes
    WINDOW by_key AS (PARTITION BY id ORDER BY _scd_at DESC, _scd_sequence_1 DESC, STRUCT(a, b, c))
),
latest AS (
    -- One row per key.
    SELECT
        id,
        MIN(a) AS a,
        MAX(b) AS b,
        MIN_BY(c, STRUCT(_scd_at, _scd_sequence_1, STRUCT(c))) AS c,
        MIN(_scd_at) AS _scd_time
    FROM ranked
    GROUP BY id
)
SELECT
    CASE
        WHEN t.id IS NOT NULL
            AND NOT (
                STRUCT(t.a, t.b, t.c)
                    <=> STRUCT(LEAST(t.a, s.a) AS a, GREATEST(t.b, s.b) AS b, t.c)
            ) THEN 'changed'
        WHEN t.id IS NULL THEN 'new'
        ELSE 'unchanged'
    END AS _scd_action,
    s.id,
    CASE WHEN t.id IS NOT NULL THEN STRUCT(t.id, t.a, t.b, t.c) END AS _scd_old,
    STRUCT(
        s.id, CASE WHEN t.id IS NULL THEN s.a ELSE LEAST(t.a, s.a) END AS a,
        CASE WHEN t.id IS NULL THEN s.b ELSE GREATEST(t.b, s.b) END AS b,
        CASE WHEN t.id IS NULL THEN s.c ELSE t.c END AS c
    ) AS _scd_new
FROM latest AS s
LEFT JOIN r.t187 AS t
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
            FROM r.t187
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
