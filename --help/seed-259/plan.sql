-- r.t259
-- Shows what merge.sql would do: how much, then some of its rows. Writes nothing.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

CREATE OR REPLACE TEMPORARY VIEW _scd_source USING parquet OPTIONS ('path' 'data/x/259/rows', 'mergeSchema' 'false');

-- The partitions of the batch's keys; Delta skips the files of all others.
DECLARE OR REPLACE VARIABLE _scd_partitions_1 ARRAY<INT>;

SET VARIABLE _scd_partitions_1 = (SELECT COLLECT_SET(CAST(id % 3 AS INT)) FROM _scd_source);

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
        CAST(id % 3 AS INT) AS bucket,
        CAST(happened AS TIMESTAMP) AS _scd_at,
        COALESCE(op = 'D', FALSE) AS _scd_deleted,
        lsn AS _scd_sequence_1
    FROM _scd_source
),
changes AS (
    -- A row that breaks a rule stops the statement. EXPLODE: rows that the source leaves out are not tested.
    SELECT *
    FROM source_rows LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
    WHERE
        CASE
            WHEN id IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] r.t259: id is NULL')
            WHEN _scd_at IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_TIME] r.t259: happened is NULL')
            WHEN (bucket IS NULL OR ARRAY_CONTAINS(_scd_partitions_1, bucket)) THEN _scd_kept
            ELSE RAISE_ERROR('[SCDGEN_SOURCE_CHANGED] r.t259: the source changed during the run')
        END
),
ranked AS (
    -- The rows of each key, the newest first; what comes before a delete does not count.
    SELECT
        *,
        CASE WHEN NOT _scd_deleted THEN STRUCT(a, b, bucket) END
            <=> FIRST_VALUE(CASE WHEN NOT _scd_deleted THEN STRUCT(a, b, bucket) END) OVER ties
            AS _scd_agrees,
        COUNT_IF(_scd_deleted) OVER life AS _scd_life,
        ROW_NUMBER() OVER by_key AS _scd_row
    FROM changes
    WINDOW
        by_key AS (PARTITION BY id ORDER BY _scd_at DESC, _scd_sequence_1 DESC),
        ties AS (
            PARTITION BY id ORDER BY _scd_at DESC, _scd_sequence_1 DESC
            RANGE BETWEEN CURRENT ROW AND CURRENT ROW
        ),
        life AS (
            PARTITION BY id ORDER BY _scd_at DESC, _scd_sequence_1 DESC
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        )
),
latest AS (
    -- One row per key; two rows that contradict each other stop the statement.
    SELECT
        id,
        MAX_BY(a, STRUCT(_scd_at, _scd_sequence_1)) FILTER (WHERE _scd_life = 0) AS a,
        MAX_BY(b, STRUCT(_scd_at, _scd_sequence_1)) FILTER (WHERE _scd_life = 0) AS b,
        MAX(c) FILTER (WHERE _scd_life = 0) AS c,
        MAX_BY(bucket, STRUCT(_scd_at, _scd_sequence_1)) FILTER (WHERE _scd_life = 0) AS bucket,
        MAX(_scd_at) FILTER (WHERE _scd_life = 0) AS changed,
        MAX(_scd_at) FILTER (WHERE _scd_life = 0) AS _scd_time,
        COUNT_IF(_scd_life = 0) = 0 AS _scd_deleted,
        BOOL_OR(_scd_deleted) AS _scd_anew,
        MAX(_scd_at) FILTER (WHERE _scd_deleted) AS _scd_deleted_at
    FROM ranked
    WHERE
        CASE
            WHEN _scd_agrees THEN TRUE
            ELSE RAISE_ERROR(
                '[SCDGEN_CONFLICT] r.t259: two different rows of one key and time: '
                || TO_JSON(STRUCT(id, _scd_at))
            )
        END
    GROUP BY id
)
SELECT
    CASE
        WHEN t.id IS NOT NULL
            AND s._scd_deleted
            AND s._scd_deleted_at >= t.changed THEN 'deleted'
        WHEN t.id IS NOT NULL
            AND s._scd_anew
            AND NOT s._scd_deleted
            AND s._scd_deleted_at >= t.changed
            AND NOT (
                STRUCT(t.a, t.b, t.c, t.bucket, t.changed)
                    <=> STRUCT(s.a, s.b, s.c, s.bucket, s.changed)
            ) THEN 'changed'
        WHEN t.id IS NOT NULL
            AND NOT s._scd_deleted
            AND NOT (
                STRUCT(t.a, t.b, t.c, t.bucket, t.changed)
                    <=> STRUCT(
                        CASE WHEN s._scd_time >= t.changed THEN s.a ELSE t.a END AS a,
                        CASE WHEN s._scd_time >= t.changed THEN s.b ELSE t.b END AS b, GREATEST(t.c, s.c) AS c,
                        CASE WHEN s._scd_time >= t.changed THEN s.bucket ELSE t.bucket END AS bucket,
                        GREATEST(t.changed, s._scd_time) AS changed
                    )
            ) THEN 'changed'
        WHEN t.id IS NULL
            AND NOT s._scd_deleted THEN 'new'
        ELSE 'unchanged'
    END AS _scd_action,
    s.id,
    CASE WHEN t.id IS NOT NULL THEN STRUCT(t.id, t.a, t.b, t.c, t.bucket, t.changed) END AS _scd_old,
    IF(
        NOT s._scd_deleted,
        STRUCT(
            s.id,
            CASE
                WHEN t.id IS NULL OR (s._scd_anew AND s._scd_deleted_at >= t.changed) THEN s.a
                ELSE CASE WHEN s._scd_time >= t.changed THEN s.a ELSE t.a END
            END AS a,
            CASE
                WHEN t.id IS NULL OR (s._scd_anew AND s._scd_deleted_at >= t.changed) THEN s.b
                ELSE CASE WHEN s._scd_time >= t.changed THEN s.b ELSE t.b END
            END AS b,
            CASE
                WHEN t.id IS NULL OR (s._scd_anew AND s._scd_deleted_at >= t.changed) THEN s.c
                ELSE GREATEST(t.c, s.c)
            END AS c,
            CASE
                WHEN t.id IS NULL OR (s._scd_anew AND s._scd_deleted_at >= t.changed) THEN s.bucket
                ELSE CASE WHEN s._scd_time >= t.changed THEN s.bucket ELSE t.bucket END
            END AS bucket,
            CASE
                WHEN t.id IS NULL OR (s._scd_anew AND s._scd_deleted_at >= t.changed) THEN s.changed
                ELSE GREATEST(t.changed, s._scd_time)
            END AS changed
        ),
        NULL
    ) AS _scd_new,
    -- It is older than the stored row of its key.
    COALESCE(s._scd_time < t.changed, FALSE) AS _scd_late
FROM latest AS s
LEFT JOIN r.t259 AS t
    ON t.id = s.id AND (t.bucket IS NULL OR ARRAY_CONTAINS(_scd_partitions_1, t.bucket));

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
            FROM r.t259
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
        ARRAY_DISTINCT(ARRAY(CAST(_scd_old.bucket AS STRING), CAST(_scd_new.bucket AS STRING))),
        ' -> ', 'NULL'
    ) AS bucket,
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
