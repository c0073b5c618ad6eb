-- crm.customer: What {they} are: it's "so"
-- Shows what merge.sql would do: how much, then some of its rows. Writes nothing.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.
-- Set before this runs: DECLARE OR REPLACE VARIABLE since DATE DEFAULT ...;

-- Every row of the extract takes effect at this time.
DECLARE OR REPLACE VARIABLE _scd_taken_at TIMESTAMP;

SET VARIABLE _scd_taken_at = COALESCE(
    CAST(session.since AS TIMESTAMP),
    RAISE_ERROR('[SCDGEN_NULL_TIME] crm.customer: snapshot.taken_at is NULL')
);

-- The time of the earliest change. No version that ended before it can be affected, so Delta can skip those files.
DECLARE OR REPLACE VARIABLE _scd_batch_from TIMESTAMP;

SET VARIABLE _scd_batch_from = (
    SELECT COALESCE(MIN(CAST(coalesce(started, happened) AS TIMESTAMP)), _scd_taken_at)
    FROM raw.rows
    WHERE (a = 1 OR b
          = 2)
);

-- A row per version that the MERGE would write or remove: _scd_old is what is stored, _scd_new what it becomes.
-- And one per key of the source that needs nothing. The steps up to "staged" are those of merge.sql.
CREATE OR REPLACE TEMPORARY VIEW _scd_plan AS
WITH source_rows AS (
    -- The source's rows, with the target's column names and types.
    SELECT
        CAST(id AS INT) AS id,
        CAST(region AS STRING) AS region,
        CAST(name AS STRING) AS name,
        CAST(town AS STRING) AS city,
        CAST(id % 3 AS INT) AS bucket,
        CAST(coalesce(started, happened) AS TIMESTAMP) AS _scd_at,
        lsn AS _scd_sequence_1
    FROM raw.rows
    WHERE (a = 1 OR b
          = 2)
),
extract AS (
    -- A row that breaks a rule stops the statement. EXPLODE: rows that the source leaves out are not tested.
    SELECT *
    FROM source_rows LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
    WHERE
        CASE
            WHEN id IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] crm.customer: id is NULL')
            WHEN region IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] crm.customer: region is NULL')
            WHEN _scd_at IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_TIME] crm.customer: effective_at is NULL')
            WHEN _scd_at >= _scd_batch_from THEN _scd_kept
            ELSE RAISE_ERROR('[SCDGEN_SOURCE_CHANGED] crm.customer: the source changed during the run')
        END
    UNION ALL
    -- An empty extract would close every version, so it stops the statement.
    SELECT
        RAISE_ERROR('[SCDGEN_EMPTY_SNAPSHOT] crm.customer: the snapshot is empty'),
        NULL, NULL, NULL, NULL, NULL, NULL, NULL
    WHERE NOT EXISTS (SELECT 1 FROM source_rows)
    DISTRIBUTE BY id, region -- one shuffle for the window and the join
),
ranked AS (
    -- Exact copies of a row count once; the row with the greatest sequence wins.
    SELECT
        *,
        RANK() OVER by_key > 1
            OR STRUCT(name, city, bucket, _scd_at)
            <=> FIRST_VALUE(STRUCT(name, city, bucket, _scd_at)) OVER by_key
            AS _scd_agrees,
        ROW_NUMBER() OVER by_key AS _scd_row
    FROM extract
    WINDOW by_key AS (PARTITION BY id, region ORDER BY _scd_sequence_1 DESC)
),
snapshot AS (
    -- One row per key; two rows that contradict each other stop the statement.
    SELECT *
    FROM ranked
    WHERE
        CASE
            WHEN _scd_row = 1 THEN TRUE
            WHEN _scd_agrees THEN FALSE
            ELSE RAISE_ERROR(
                '[SCDGEN_CONFLICT] crm.customer: two different rows of one key: '
                || TO_JSON(STRUCT(id, region))
            )
        END
),
stored AS (
    -- Open versions, and those that ended at the time of this extract or later, as when it is loaded again.
    SELECT
        t.id, t.region, t.name, t.city, t.bucket,
        t.begins AS _scd_from,
        t.until AS _scd_until,
        ROW_NUMBER() OVER newest_first AS _scd_row
    FROM crm.customer AS t
    WHERE (t.until IS NULL OR t.until >= _scd_batch_from)
    WINDOW newest_first AS (PARTITION BY t.id, t.region ORDER BY t.begins DESC)
    DISTRIBUTE BY id, region -- like the extract, for the join
),
compared AS (
    -- Only keys that differ: missing from the extract, new, changed, or back again.
    SELECT
        COALESCE(n.id, o.id) AS id,
        COALESCE(n.region, o.region) AS region,
        n.name,
        CASE WHEN o._scd_until IS NULL THEN COALESCE(n.city, o.city) ELSE n.city END AS city,
        n.bucket,
        COALESCE(n._scd_at, _scd_taken_at) AS _scd_at,
        o._scd_from, o._scd_until,
        NOT (o.id IS NULL) AND o._scd_until IS NULL
            AND (o.city IS NULL AND n.city IS NOT NULL) AS _scd_fills,
        CASE
            WHEN STRUCT(
                lower(trim(n.name)) AS name,
                COALESCE(n.city, CASE WHEN o._scd_until IS NULL THEN o.city END) AS city, n.bucket
            )
                <=> STRUCT(
                    lower(trim(o.name)) AS name,
                    COALESCE(o.city, CASE WHEN o._scd_until IS NULL THEN n.city END) AS city, o.bucket
                )
                THEN STRUCT(o.name)
        END AS _scd_same,
        CASE
            WHEN n.id IS NULL THEN ARRAY('close')
            WHEN o.id IS NULL OR o._scd_until < n._scd_at THEN ARRAY('open')
            WHEN _scd_same IS NOT NULL THEN ARRAY('correct')
            WHEN o._scd_until IS NOT NULL THEN ARRAY('open')
            WHEN n._scd_at = o._scd_from THEN ARRAY('correct')
            ELSE ARRAY('close', 'open')
        END AS _scd_actions
    FROM snapshot AS n
    FULL OUTER JOIN (SELECT * FROM stored WHERE _scd_row = 1) AS o
        ON n.id = o.id
        AND n.region = o.region
    WHERE
        CASE
            WHEN n.id IS NULL THEN o._scd_until IS NULL
            WHEN o.id IS NULL OR o._scd_until IS NOT NULL THEN TRUE
            WHEN STRUCT(
                lower(trim(n.name)) AS name,
                COALESCE(n.city, CASE WHEN o._scd_until IS NULL THEN o.city END) AS city, n.bucket
            )
                <=> STRUCT(lower(trim(o.name)) AS name, o.city, o.bucket)
                THEN FALSE
            WHEN n._scd_at < o._scd_from THEN RAISE_ERROR(
                '[SCDGEN_LATE] crm.customer: a late row: '
                || TO_JSON(STRUCT(n.id, n.region, n._scd_at))
            )
            ELSE TRUE
        END
),
versions AS (
    -- A changed key closes a version and opens another. Closing one that is too new stops the run.
    SELECT
        *,
        CASE WHEN _scd_action = 'open' THEN GREATEST(_scd_at, _scd_until) ELSE _scd_from END AS _scd_start,
        CASE WHEN _scd_action = 'close' THEN _scd_at END AS _scd_next
    FROM compared
        LATERAL VIEW EXPLODE(_scd_actions) p AS _scd_action
    WHERE
        CASE
            WHEN _scd_action = 'close' AND _scd_at <= _scd_from
                THEN RAISE_ERROR(
                    '[SCDGEN_TAKEN_AT] crm.customer: the snapshot is not newer than a version that it closes: '
                    || TO_JSON(STRUCT(id, region, _scd_from))
                )
            ELSE TRUE
        END
),
kept AS (
    -- A version that is corrected keeps the values for which `compare` sees no change.
    SELECT
        id, region,
        IF(_scd_action = 'correct' AND _scd_same IS NOT NULL, _scd_same.name, name) AS name,
        city, bucket, _scd_action, _scd_start, _scd_next, _scd_from, _scd_until, _scd_fills
    FROM versions
),
lives AS (
    -- The versions of keys in which a NULL becomes known, and whether a delete follows each.
    SELECT
        t.id, t.region, t.name, t.city, t.bucket,
        t.begins AS _scd_from,
        t.until AS _scd_until,
        NOT (t.until <=> LAG(t.begins) OVER newest_first) AS _scd_ends
    FROM crm.customer AS t
    LEFT SEMI JOIN (SELECT * FROM compared WHERE _scd_fills) AS c
        ON t.id = c.id
        AND t.region = c.region
    WINDOW newest_first AS (PARTITION BY t.id, t.region ORDER BY t.begins DESC)
),
filled AS (
    -- What became known is written into the versions since the last delete; a version that closes now gets its end here.
    SELECT
        l.id,
        l.region,
        l.name,
        COALESCE(l.city, c.city) AS city,
        l.bucket,
        l._scd_from,
        COALESCE(l._scd_until, c._scd_at) AS _scd_until
    FROM (
        SELECT
            *,
            COUNT_IF(_scd_ends) OVER (PARTITION BY id, region ORDER BY _scd_from DESC) AS _scd_life
        FROM lives
    ) AS l
    JOIN compared AS c
        ON l.id = c.id
        AND l.region = c.region
    WHERE l._scd_life = 0
        AND c._scd_fills
        AND (l._scd_until IS NOT NULL OR ARRAY_CONTAINS(c._scd_actions, 'close'))
),
staged AS (
    -- Rows to write, with their history columns.
    SELECT
        _scd_action,
        id, region, name, city, bucket,
        _scd_start AS begins,
        _scd_next AS until,
        _scd_next IS NULL AS is_current
    FROM kept
    WHERE NOT (_scd_fills AND _scd_action = 'close')
    UNION ALL
    SELECT
        'correct' AS _scd_action,
        id, region, name, city, bucket,
        _scd_from AS begins,
        _scd_until AS until,
        _scd_until IS NULL AS is_current
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
        CASE WHEN t.until IS NULL AND NOT (s.until IS NULL) THEN 'close' ELSE s._scd_action END AS _scd_action,
        COALESCE(s.id, n.id) AS id,
        COALESCE(s.region, n.region) AS region,
        s.begins AS _scd_start,
        IF(
            t.id IS NOT NULL,
            STRUCT(t.id, t.region, t.name, t.city, t.bucket, t.begins, t.until, t.is_current),
            NULL
        ) AS _scd_old,
        STRUCT(
            s.id, s.region, CASE WHEN s._scd_action = 'close' THEN t.name ELSE s.name END AS name,
            CASE WHEN s._scd_action = 'close' THEN t.city ELSE s.city END AS city,
            CASE WHEN s._scd_action = 'close' THEN t.bucket ELSE s.bucket END AS bucket, s.begins,
            s.until, s.is_current
        ) AS _scd_new,
        t.id IS NOT NULL AND t.until IS NULL AS _scd_current,
        BOOL_OR(t.id IS NOT NULL AND t.until IS NULL)
            OVER by_key AS _scd_lives,
        BOOL_OR(t.id IS NOT NULL OR k.id IS NOT NULL) OVER by_key AS _scd_known,
        MIN(CASE WHEN s._scd_action IS NOT NULL THEN s.begins END) OVER by_key AS _scd_first_write,
        COALESCE(BOOL_OR(s.until IS NULL) OVER by_key, FALSE) AS _scd_stays
    FROM staged AS s
    FULL OUTER JOIN snapshot AS n
        ON n.id = s.id AND n.region = s.region
    LEFT JOIN crm.customer AS t
        ON t.id = s.id AND t.region = s.region AND t.begins = s.begins
    LEFT JOIN (
        -- The keys of the table, those deleted long ago too: they return, and are not new.
        SELECT
            v.id, v.region
        FROM crm.customer AS v
        GROUP BY v.id, v.region
    ) AS k
        ON k.id = s.id AND k.region = s.region
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
            FROM crm.customer AS t
            WHERE t.until IS NULL
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
        ARRAY_DISTINCT(ARRAY(_scd_old.name, _scd_new.name)),
        ' -> ', 'NULL'
    ) AS name,
    ARRAY_JOIN(
        ARRAY_DISTINCT(ARRAY(_scd_old.city, _scd_new.city)),
        ' -> ', 'NULL'
    ) AS city,
    ARRAY_JOIN(
        ARRAY_DISTINCT(ARRAY(CAST(_scd_old.bucket AS STRING), CAST(_scd_new.bucket AS STRING))),
        ' -> ', 'NULL'
    ) AS bucket,
    _scd_new.begins,
    ARRAY_JOIN(
        ARRAY_DISTINCT(ARRAY(CAST(_scd_old.until AS STRING), CAST(_scd_new.until AS STRING))),
        ' -> ', 'NULL'
    ) AS until,
    ARRAY_JOIN(
        ARRAY_DISTINCT(ARRAY(CAST(_scd_old.is_current AS STRING), CAST(_scd_new.is_current AS STRING))),
        ' -> ', 'NULL'
    ) AS is_current
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
