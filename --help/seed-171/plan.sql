-- r.t171: it's \ number 171 -- of */ many
-- Shows what merge.sql would do: how much, then some of its rows. Writes nothing.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- A row per row that the MERGE would write or remove: _scd_old is what is stored, _scd_new what it becomes.
-- And one per key of the source that needs nothing. The steps up to "latest" are those of merge.sql.
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
    FROM incoming_171
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
        STRUCT(c) <=> FIRST_VALUE(STRUCT(c)) OVER ties AS _scd_agrees,
        ROW_NUMBER() OVER by_key AS _scd_row
    FROM changes
    WINDOW
        by_key AS (PARTITION BY id ORDER BY _scd_at DESC, _scd_sequence_1 DESC),
        ties AS (
            PARTITION BY id ORDER BY _scd_at DESC, _scd_sequence_1 DESC
            RANGE BETWEEN CURRENT ROW AND CURRENT ROW
        )
),
latest AS (
    -- One row per key; two rows that contradict each other stop the statement.
    SELECT
        id,
        MAX(a) AS a,
        MAX(b) AS b,
        MAX_BY(c, STRUCT(_scd_at, _scd_sequence_1)) AS c,
        MAX(_scd_at) AS changed,
        MAX(_scd_at) AS _scd_time
    FROM ranked
    WHERE
        CASE
            WHEN _scd_agrees THEN TRUE
            ELSE RAISE_ERROR(
                '[SCDGEN_CONFLICT] r.t171: two different rows of one key and time: '
                || TO_JSON(STRUCT(id, _scd_at))
            )
        END
    GROUP BY id
)
SELECT
    CASE
        WHEN t.id IS NOT NULL
            AND NOT (
                STRUCT(t.a, t.b, t.c, t.changed)
                    <=> STRUCT(
                        GREATEST(t.a, s.a) AS a, GREATEST(t.b, s.b) AS b,
                        CASE WHEN s._scd_time >= t.changed THEN s.c ELSE t.c END AS c,
                        GREATEST(t.changed, s._scd_time) AS changed
                    )
            ) THEN 'changed'
        WHEN t.id IS NULL THEN 'new'
        ELSE 'unchanged'
    END AS _scd_action,
    s.id,
    CASE WHEN t.id IS NOT NULL THEN STRUCT(t.id, t.a, t.b, t.c, t.changed) END AS _scd_old,
    STRUCT(
        s.id, CASE WHEN t.id IS NULL THEN s.a ELSE GREATEST(t.a, s.a) END AS a,
        CASE WHEN t.id IS NULL THEN s.b ELSE GREATEST(t.b, s.b) END AS b,
        CASE
            WHEN t.id IS NULL THEN s.c
            ELSE CASE WHEN s._scd_time >= t.changed THEN s.c ELSE t.c END
        END AS c,
        CASE WHEN t.id IS NULL THEN s.changed ELSE GREATEST(t.changed, s._scd_time) END AS changed
    ) AS _scd_new,
    -- It is older than the stored row of its key.
    COALESCE(s._scd_time < t.changed, FALSE) AS _scd_late
FROM latest AS s
LEFT JOIN r.t171 AS t
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
        COUNT_IF(_scd_late AND _scd_action <> 'unchanged') AS late,
        COUNT_IF(_scd_action = 'deleted') AS closed_keys,
        (
            SELECT COUNT(*)
            FROM r.t171
        ) AS current_keys
    FROM _scd_plan
);

-- Some rows of each action; a value that would change is shown as `old -> new`.
SELECT
    _scd_action AS change,
    CONCAT_WS(', ', CASE WHEN _scd_late THEN 'late' END) AS note,
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
        _scd_action, _scd_late, id,
        COALESCE(_scd_old, _scd_new) AS _scd_old,
        COALESCE(_scd_new, _scd_old) AS _scd_new,
        ROW_NUMBER() OVER (PARTITION BY _scd_action ORDER BY id) AS _scd_row
    FROM _scd_plan
    WHERE _scd_action <> 'unchanged'
)
WHERE _scd_row <= 5
ORDER BY id, _scd_action;
