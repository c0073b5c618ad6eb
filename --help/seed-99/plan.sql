-- r.t99: it's \ number 99 -- of */ many
-- Shows what merge.sql would do: how much, then some of its rows. Writes nothing.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The partitions of the batch's keys; Delta skips the files of all others.
DECLARE OR REPLACE VARIABLE _scd_partitions_1 ARRAY<INT>;

SET VARIABLE _scd_partitions_1 = (
    WITH source AS (
        SELECT * FROM incoming_99 WHERE 1 = 1
    )
    SELECT COLLECT_SET(CAST(id % 3 AS INT))
    FROM source
);

-- A row per row that the MERGE would write or remove: _scd_old is what is stored, _scd_new what it becomes.
-- And one per key of the source that needs nothing. The steps up to "latest" are those of merge.sql.
CREATE OR REPLACE TEMPORARY VIEW _scd_plan AS
WITH source AS (
    SELECT * FROM incoming_99 WHERE 1 = 1
),
source_rows AS (
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
    FROM source
),
changes AS (
    -- A row that breaks a rule stops the statement. EXPLODE: rows that the source leaves out are not tested.
    -- A row without a key or a time is left out.
    SELECT *
    FROM source_rows LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
    WHERE
        CASE
            WHEN id IS NULL OR _scd_at IS NULL THEN FALSE
            WHEN (bucket IS NULL OR ARRAY_CONTAINS(_scd_partitions_1, bucket)) THEN _scd_kept
            ELSE RAISE_ERROR('[SCDGEN_SOURCE_CHANGED] r.t99: the source changed during the run')
        END
),
ranked AS (
    -- The rows of each key, the newest first; what comes before a delete does not count.
    SELECT
        *,
        COUNT_IF(_scd_deleted) OVER life AS _scd_life,
        ROW_NUMBER() OVER by_key AS _scd_row
    FROM changes
    WINDOW
        by_key AS (PARTITION BY id ORDER BY _scd_at DESC, _scd_sequence_1 DESC, _scd_deleted DESC, STRUCT(a, b, c, bucket)),
        life AS (
            PARTITION BY id ORDER BY _scd_at DESC, _scd_sequence_1 DESC, _scd_deleted DESC, STRUCT(a, b, c, bucket)
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        )
),
latest AS (
    -- One row per key.
    SELECT
        id,
        MAX(a) FILTER (WHERE _scd_life = 0) AS a,
        MAX(b) FILTER (WHERE _scd_life = 0) AS b,
        MIN_BY(c, STRUCT(_scd_at, _scd_sequence_1, STRUCT(c, bucket))) FILTER (WHERE _scd_life = 0) AS c,
        MAX_BY(bucket, STRUCT(_scd_at, _scd_sequence_1, STRUCT(c, bucket))) FILTER (WHERE _scd_life = 0) AS bucket,
        MAX(_scd_at) FILTER (WHERE _scd_life = 0) AS _scd_time,
        COUNT_IF(_scd_life = 0) = 0 AS _scd_deleted,
        BOOL_OR(_scd_deleted) AS _scd_anew,
        MAX(_scd_at) FILTER (WHERE _scd_deleted) AS _scd_deleted_at
    FROM ranked
    GROUP BY id
)
SELECT
    CASE
        WHEN t.id IS NOT NULL
            AND s._scd_deleted THEN 'deleted'
        WHEN t.id IS NOT NULL
            AND s._scd_anew
            AND NOT s._scd_deleted
            AND NOT (STRUCT(t.a, t.b, t.c, t.bucket) <=> STRUCT(s.a, s.b, s.c, s.bucket)) THEN 'changed'
        WHEN t.id IS NOT NULL
            AND NOT s._scd_deleted
            AND NOT (
                STRUCT(t.a, t.b, t.c, t.bucket)
                    <=> STRUCT(GREATEST(t.a, s.a) AS a, GREATEST(t.b, s.b) AS b, t.c, s.bucket)
            ) THEN 'changed'
        WHEN t.id IS NULL
            AND NOT s._scd_deleted THEN 'new'
        ELSE 'unchanged'
    END AS _scd_action,
    s.id,
    CASE WHEN t.id IS NOT NULL THEN STRUCT(t.id, t.a, t.b, t.c, t.bucket) END AS _scd_old,
    IF(
        NOT s._scd_deleted,
        STRUCT(
            s.id,
            CASE WHEN t.id IS NULL OR (s._scd_anew) THEN s.a ELSE GREATEST(t.a, s.a) END AS a,
            CASE WHEN t.id IS NULL OR (s._scd_anew) THEN s.b ELSE GREATEST(t.b, s.b) END AS b,
            CASE WHEN t.id IS NULL OR (s._scd_anew) THEN s.c ELSE t.c END AS c, s.bucket
        ),
        NULL
    ) AS _scd_new
FROM latest AS s
LEFT JOIN r.t99 AS t
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
        COUNT_IF(_scd_action = 'deleted') AS closed_keys,
        (
            SELECT COUNT(*)
            FROM r.t99
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
        ARRAY_DISTINCT(ARRAY(CAST(_scd_old.bucket AS STRING), CAST(_scd_new.bucket AS STRING))),
        ' -> ', 'NULL'
    ) AS bucket
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
