-- r.t120: it's \ number 120 -- of */ many
-- Shows what merge.sql would do: how much, then some of its rows. Writes nothing.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

CREATE OR REPLACE TEMPORARY VIEW _scd_source USING parquet OPTIONS ('path' 'data/x/120/rows', 'mergeSchema' 'false');

-- The time of the earliest change. No version that ended before it can be affected, so Delta can skip those files.
DECLARE OR REPLACE VARIABLE _scd_batch_from BIGINT;

SET VARIABLE _scd_batch_from = (SELECT MIN(CAST(happened AS BIGINT)) FROM _scd_source);

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
        CAST(happened AS BIGINT) AS _scd_at,
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
            WHEN id IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] r.t120: id is NULL')
            WHEN region IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] r.t120: region is NULL')
            WHEN _scd_at IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_TIME] r.t120: happened is NULL')
            WHEN _scd_at >= _scd_batch_from THEN _scd_kept
            ELSE RAISE_ERROR('[SCDGEN_SOURCE_CHANGED] r.t120: the source changed during the run')
        END
),
timeline AS (
    -- A row per event: a change (rank 1), or the start (2) or end (3) of a version that the batch can affect.
    SELECT id, region, a, b, c, _scd_at, _scd_deleted, _scd_sequence_1, NULL AS _scd_until, 1 AS _scd_rank
    FROM changes
    UNION ALL
    SELECT t.id, t.region, t.a, t.b, t.c, _scd_at, _scd_deleted, NULL, t.ends, _scd_rank
    FROM r.t120 AS t
    LEFT SEMI JOIN changes AS c ON t.id = c.id AND t.region = c.region
        LATERAL VIEW STACK(
            2,
            t.begins, COALESCE(t.is_deleted, FALSE), 2,
            t.ends, TRUE, 3
        ) p AS _scd_at, _scd_deleted, _scd_rank
    WHERE (t.ends IS NULL OR t.ends >= _scd_batch_from) AND _scd_at IS NOT NULL
    DISTRIBUTE BY id, region -- of the whole UNION: one shuffle serves every window
),
newest AS (
    -- The newest start or delete that is stored of each key: what is not later than it is late.
    SELECT
        *,
        MAX(CASE WHEN _scd_rank > 1 THEN _scd_at END) OVER (PARTITION BY id, region) AS _scd_newest
    FROM timeline
),
ranked AS (
    -- At one key and time, a change takes precedence over what is stored; the greatest lsn wins.
    SELECT
        *,
        ROW_NUMBER() OVER same_time AS _scd_row,
        RANK() OVER same_time > 1
            OR CASE WHEN NOT _scd_deleted THEN STRUCT(a, b, c) END
            <=> FIRST_VALUE(CASE WHEN NOT _scd_deleted THEN STRUCT(a, b, c) END) OVER same_time
            AS _scd_agrees,
        FIRST_VALUE(CASE WHEN _scd_rank = 2 THEN STRUCT(a, b, c, _scd_deleted, _scd_until AS _scd_next) END)
            IGNORE NULLS OVER (PARTITION BY id, region, _scd_at) AS _scd_stored
    FROM newest
    WHERE
        CASE
            WHEN _scd_rank = 1 AND _scd_at <= _scd_newest THEN RAISE_ERROR(
                '[SCDGEN_LATE] r.t120: a late row: ' || TO_JSON(STRUCT(id, region, _scd_at))
            )
            ELSE TRUE
        END
    WINDOW same_time AS (PARTITION BY id, region, _scd_at ORDER BY _scd_rank ASC, _scd_sequence_1 DESC)
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
                '[SCDGEN_CONFLICT] r.t120: two different rows of one key and time: '
                || TO_JSON(STRUCT(id, region, _scd_at))
            )
        END
    WINDOW by_key AS (PARTITION BY id, region ORDER BY _scd_at)
),
given AS (
    -- NULL in a change means "not given": the last known value stays.
    SELECT
        id,
        region,
        a,
        CASE
            WHEN _scd_deleted THEN b
            ELSE LAST_VALUE(CASE WHEN NOT _scd_deleted THEN b END) IGNORE NULLS OVER by_life
        END AS b,
        CASE
            WHEN _scd_deleted THEN c
            ELSE LAST_VALUE(CASE WHEN NOT _scd_deleted THEN c END) IGNORE NULLS OVER by_life
        END AS c,
        _scd_at, _scd_deleted, _scd_stored, _scd_rank, _scd_oldest
    FROM events
    WINDOW
        by_life AS (PARTITION BY id, region, _scd_life ORDER BY _scd_at)
),
opening AS (
    -- Each opens a version.
    SELECT
        *,
        TRUE AS _scd_opens
    FROM given
    WINDOW by_key AS (PARTITION BY id, region ORDER BY _scd_at)
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
        ) IGNORE NULLS OVER (PARTITION BY id, region ORDER BY _scd_at) AS _scd_known
    FROM opening
),
marked AS (
    -- Each version with its values.
    SELECT
        id,
        region,
        CASE WHEN _scd_deleted THEN _scd_known.a ELSE a END AS a,
        CASE WHEN _scd_deleted THEN _scd_known.b ELSE b END AS b,
        CASE WHEN _scd_deleted THEN _scd_known.c ELSE c END AS c,
        _scd_at, _scd_deleted, _scd_stored, _scd_rank, _scd_oldest, _scd_opens
    FROM known
),
staged AS (
    -- A version ends at the next start or delete, exclusive. The action is NULL if nothing needs to be written.
    SELECT
        LEAD(_scd_at) OVER (PARTITION BY id, region ORDER BY _scd_at) AS _scd_next,
        CASE
            WHEN _scd_opens AND _scd_stored IS NULL THEN 'open'
            WHEN NOT _scd_opens AND _scd_stored IS NOT NULL THEN 'fold'
            WHEN _scd_opens AND NOT (_scd_stored <=> STRUCT(a, b, c, _scd_deleted, _scd_next))
                THEN IF(_scd_stored._scd_next IS NULL AND _scd_next IS NOT NULL, 'close', 'correct')
        END AS _scd_action,
        id, region, a, b, c,
        _scd_at AS begins,
        _scd_next AS ends,
        SHA2(TO_JSON(STRUCT(a), MAP('ignoreNullFields', 'true')), 256) AS the_row_hash,
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
        s.id,
        s.region,
        s.begins AS _scd_start,
        IF(
            t.id IS NOT NULL,
            STRUCT(t.id, t.region, t.a, t.b, t.c, t.begins, t.ends, t.the_row_hash, t.is_deleted),
            NULL
        ) AS _scd_old,
        IF(
            s._scd_action <> 'fold',
            STRUCT(s.id, s.region, s.a, s.b, s.c, s.begins, s.ends, s.the_row_hash, s.is_deleted),
            NULL
        ) AS _scd_new,
        COUNT(s._scd_action) OVER by_key = 0 AND ROW_NUMBER() OVER in_order = 1 AS _scd_idle,
        t.id IS NOT NULL AND t.ends IS NULL AND NOT t.is_deleted AS _scd_current,
        BOOL_OR(t.id IS NOT NULL AND t.ends IS NULL AND NOT t.is_deleted)
            OVER by_key AS _scd_lives,
        BOOL_OR(t.id IS NOT NULL OR k.id IS NOT NULL) OVER by_key AS _scd_known,
        MIN(CASE WHEN s._scd_action IS NOT NULL THEN s.begins END) OVER by_key AS _scd_first_write,
        COALESCE(BOOL_OR(CASE
            WHEN s._scd_action IS NULL THEN t.id IS NOT NULL AND t.ends IS NULL AND NOT t.is_deleted
            WHEN s._scd_action <> 'fold' THEN s.ends IS NULL AND NOT s.is_deleted
        END) OVER by_key, FALSE) AS _scd_stays
    FROM staged AS s
    LEFT JOIN r.t120 AS t
        ON t.id = s.id
            AND t.region = s.region
            AND t.begins = s.begins
            AND (t.ends IS NULL OR t.ends >= _scd_batch_from)
    LEFT JOIN (
        -- The keys of the table, those deleted long ago too: they return, and are not new.
        SELECT
            v.id, v.region
        FROM r.t120 AS v
        LEFT SEMI JOIN changes AS c ON v.id = c.id AND v.region = c.region
        GROUP BY v.id, v.region
    ) AS k
        ON k.id = s.id AND k.region = s.region
    WINDOW
        by_key AS (PARTITION BY s.id, s.region),
        in_order AS (PARTITION BY s.id, s.region ORDER BY s.begins)
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
        COUNT_IF(_scd_closes) AS closed_keys,
        (
            SELECT COUNT(*)
            FROM r.t120 AS t
            WHERE t.ends IS NULL
                AND NOT t.is_deleted
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
        _scd_action, _scd_deletes, _scd_start, id, region,
        COALESCE(_scd_old, _scd_new) AS _scd_old,
        COALESCE(_scd_new, _scd_old) AS _scd_new,
        ROW_NUMBER() OVER (PARTITION BY _scd_action, _scd_deletes ORDER BY id, region, _scd_start) AS _scd_row
    FROM _scd_plan
    WHERE _scd_action <> 'unchanged'
)
WHERE _scd_row <= 5
ORDER BY id, region, _scd_start, _scd_action;
