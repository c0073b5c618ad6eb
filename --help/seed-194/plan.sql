-- r.t194: it's \ number 194 -- of */ many
-- Shows what merge.sql would do: how much, then some of its rows. Writes nothing.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.
-- Set before this runs: DECLARE OR REPLACE VARIABLE taken BIGINT DEFAULT ...;

DECLARE OR REPLACE VARIABLE least INT;

SET VARIABLE least = CAST(2 AS INT);

-- Every row of the extract takes effect at this time.
DECLARE OR REPLACE VARIABLE _scd_taken_at BIGINT;

SET VARIABLE _scd_taken_at = CASE
    WHEN CAST(session.taken AS BIGINT) < 9999999999 THEN CAST(session.taken AS BIGINT)
    ELSE RAISE_ERROR('[SCDGEN_NULL_TIME] r.t194: snapshot.taken_at is NULL or not before the open end')
END;

-- The partitions of the batch's keys; Delta skips the files of all others.
DECLARE OR REPLACE VARIABLE _scd_partitions_1 ARRAY<INT>;

SET VARIABLE _scd_partitions_1 = (
    SELECT COLLECT_SET(CAST(id % 3 AS INT))
    FROM nowhere
    WHERE (b IS NULL OR b >= session.least)
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
        CAST(id % 3 AS INT) AS bucket
    FROM nowhere
    WHERE (b IS NULL OR b >= session.least)
),
extract AS (
    -- A row that breaks a rule stops the statement. EXPLODE: rows that the source leaves out are not tested.
    -- A row without a key is left out.
    SELECT *
    FROM source_rows LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
    WHERE
        CASE
            WHEN id IS NULL OR region IS NULL THEN FALSE
            WHEN (bucket IS NULL OR ARRAY_CONTAINS(_scd_partitions_1, bucket)) THEN _scd_kept
            ELSE RAISE_ERROR('[SCDGEN_SOURCE_CHANGED] r.t194: the source changed during the run')
        END
    UNION ALL
    -- An empty extract would close every version, so it stops the statement.
    SELECT
        RAISE_ERROR('[SCDGEN_EMPTY_SNAPSHOT] r.t194: the snapshot is empty'),
        NULL, NULL, NULL, NULL, NULL, NULL
    WHERE NOT EXISTS (SELECT 1 FROM source_rows WHERE NOT (id IS NULL OR region IS NULL))
    DISTRIBUTE BY id, region -- one shuffle for the window and the join
),
ranked AS (
    -- Exact copies of a row count once.
    SELECT
        *,
        LAG(STRUCT(a, b, c, bucket)) OVER by_key AS _scd_before
    FROM extract
    WINDOW by_key AS (PARTITION BY id, region ORDER BY id, region)
),
snapshot AS (
    -- One row per key; two rows that contradict each other stop the statement.
    SELECT *
    FROM ranked
    WHERE
        CASE
            WHEN _scd_before IS NULL THEN TRUE
            WHEN _scd_before <=> STRUCT(a, b, c, bucket) THEN FALSE
            ELSE RAISE_ERROR(
                '[SCDGEN_CONFLICT] r.t194: two different rows of one key: '
                || TO_JSON(STRUCT(id, region))
            )
        END
),
stored AS (
    -- Open versions, and those that ended at the time of this extract or later, as when it is loaded again.
    SELECT
        t.id, t.region, t.a, t.b, t.c, t.bucket,
        t.begins AS _scd_from,
        NULLIF(t.ends, 9999999999) AS _scd_until,
        ROW_NUMBER() OVER newest_first AS _scd_row
    FROM r.t194 AS t
    WHERE t.ends >= _scd_taken_at
        AND (t.bucket IS NULL OR ARRAY_CONTAINS(_scd_partitions_1, t.bucket))
    WINDOW newest_first AS (PARTITION BY t.id, t.region ORDER BY t.begins DESC)
    DISTRIBUTE BY id, region -- like the extract, for the join
),
compared AS (
    -- Only keys that differ: new, changed, or back again.
    SELECT
        COALESCE(n.id, o.id) AS id,
        COALESCE(n.region, o.region) AS region,
        n.a, n.b, n.c, n.bucket,
        _scd_taken_at AS _scd_at,
        o._scd_from, o._scd_until,
        COUNT_IF(n.id IS NULL) OVER () AS _scd_closing,
        CASE
            WHEN STRUCT(n.a, least(n.b, 1) AS b, n.c) <=> STRUCT(o.a, least(o.b, 1) AS b, o.c) THEN STRUCT(o.b)
        END AS _scd_same,
        CASE
            WHEN o.id IS NULL THEN ARRAY('open')
            WHEN o._scd_until IS NOT NULL THEN ARRAY('open')
            ELSE ARRAY('close', 'open')
        END AS _scd_actions
    FROM snapshot AS n
    LEFT JOIN (SELECT * FROM stored WHERE _scd_row = 1) AS o
        ON n.id = o.id
        AND n.region = o.region
    WHERE
        CASE
            WHEN o.id IS NULL OR o._scd_until IS NOT NULL THEN TRUE
            ELSE NOT (_scd_taken_at <= o._scd_from AND STRUCT(n.a, least(n.b, 1) AS b, n.c, n.bucket)
                <=> STRUCT(o.a, least(o.b, 1) AS b, o.c, o.bucket))
        END
),
versions AS (
    -- A changed key closes a version and opens another. Closing one that is too new, or too many, stops the run.
    SELECT
        *,
        CASE WHEN _scd_action = 'open' THEN GREATEST(_scd_at, _scd_until) ELSE _scd_from END AS _scd_start,
        CASE WHEN _scd_action = 'close' THEN _scd_at END AS _scd_next
    FROM compared
    CROSS JOIN (SELECT COUNT(*) AS _scd_current FROM r.t194 AS t WHERE t.ends = 9999999999)
        LATERAL VIEW EXPLODE(_scd_actions) p AS _scd_action
    WHERE
        CASE
            WHEN _scd_action = 'close' AND _scd_at <= _scd_from
                THEN RAISE_ERROR(
                    '[SCDGEN_TAKEN_AT] r.t194: the snapshot is not newer than a version that it closes: '
                    || TO_JSON(STRUCT(id, region, _scd_from))
                )
            WHEN _scd_closing > 0.9 * _scd_current
                THEN RAISE_ERROR(
                    '[SCDGEN_MAX_DELETED] r.t194: ' || _scd_closing
                    || IF(_scd_closing = 1, ' key', ' keys') || ' deleted ('
                    || ROUND(100 * _scd_closing / _scd_current, 1) || ' %; limit 90 %)'
                )
            ELSE TRUE
        END
),
kept AS (
    -- A version that is corrected keeps the values for which `compare` sees no change.
    SELECT
        id, region, a,
        IF(_scd_action = 'correct' AND _scd_same IS NOT NULL, _scd_same.b, b) AS b,
        c, bucket, _scd_action, _scd_start, _scd_next, _scd_from, _scd_until
    FROM versions
),
staged AS (
    -- Rows to write, with their history columns.
    SELECT
        _scd_action,
        id, region, a, b, c, bucket,
        _scd_start AS begins,
        COALESCE(_scd_next, 9999999999) AS ends,
        CASE WHEN _scd_next IS NULL THEN 'Y' ELSE 'N' END AS current_flag
    FROM kept
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
        COALESCE(s.id, n.id) AS id,
        COALESCE(s.region, n.region) AS region,
        s.begins AS _scd_start,
        IF(
            t.id IS NOT NULL,
            STRUCT(t.id, t.region, t.a, t.b, t.c, t.bucket, t.begins, t.ends, t.current_flag),
            NULL
        ) AS _scd_old,
        STRUCT(
            s.id, s.region, CASE WHEN s._scd_action = 'close' THEN t.a ELSE s.a END AS a,
            CASE WHEN s._scd_action = 'close' THEN t.b ELSE s.b END AS b,
            CASE WHEN s._scd_action = 'close' THEN t.c ELSE s.c END AS c,
            CASE WHEN s._scd_action = 'close' THEN t.bucket ELSE s.bucket END AS bucket, s.begins,
            s.ends, s.current_flag
        ) AS _scd_new,
        t.id IS NOT NULL AND t.ends = 9999999999 AS _scd_current,
        BOOL_OR(t.id IS NOT NULL AND t.ends = 9999999999)
            OVER by_key AS _scd_lives,
        BOOL_OR(t.id IS NOT NULL) OVER by_key AS _scd_known,
        MIN(CASE WHEN s._scd_action IS NOT NULL THEN s.begins END) OVER by_key AS _scd_first_write,
        COALESCE(BOOL_OR(s.ends = 9999999999) OVER by_key, FALSE) AS _scd_stays
    FROM staged AS s
    FULL OUTER JOIN snapshot AS n
        ON n.id = s.id AND n.region = s.region
    LEFT JOIN r.t194 AS t
        ON t.id = s.id
            AND t.region = s.region
            AND t.begins = s.begins
            AND t.ends >= _scd_taken_at
            AND (t.bucket IS NULL OR ARRAY_CONTAINS(_scd_partitions_1, t.bucket))
    WINDOW by_key AS (PARTITION BY COALESCE(s.id, n.id), COALESCE(s.region, n.region))
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
            FROM r.t194 AS t
            WHERE t.ends = 9999999999
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
    ARRAY_JOIN(
        ARRAY_DISTINCT(ARRAY(CAST(_scd_old.bucket AS STRING), CAST(_scd_new.bucket AS STRING))),
        ' -> ', 'NULL'
    ) AS bucket,
    _scd_new.begins,
    ARRAY_JOIN(
        ARRAY_DISTINCT(ARRAY(CAST(_scd_old.ends AS STRING), CAST(_scd_new.ends AS STRING))),
        ' -> ', 'NULL'
    ) AS ends,
    ARRAY_JOIN(
        ARRAY_DISTINCT(ARRAY(_scd_old.current_flag, _scd_new.current_flag)),
        ' -> ', 'NULL'
    ) AS current_flag
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
