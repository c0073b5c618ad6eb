-- crm.customer
-- Shows what merge.sql would do: how much, then some of its rows. Writes nothing.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- Every row of the extract takes effect at this time.
DECLARE OR REPLACE VARIABLE _scd_taken_at TIMESTAMP;

SET VARIABLE _scd_taken_at = COALESCE(
    CAST(current_timestamp() AS TIMESTAMP),
    RAISE_ERROR('[SCDGEN_NULL_TIME] crm.customer: snapshot.taken_at is NULL')
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
        lsn AS _scd_sequence_1,
        part AS _scd_sequence_2
    FROM raw.rows
),
extract AS (
    -- A row that breaks a rule stops the statement. EXPLODE: rows that the source leaves out are not tested.
    SELECT *
    FROM source_rows LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
    WHERE
        CASE
            WHEN id IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] crm.customer: id is NULL')
            WHEN region IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] crm.customer: region is NULL')
            ELSE _scd_kept
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
            OR STRUCT(name, city, bucket)
            <=> FIRST_VALUE(STRUCT(name, city, bucket)) OVER by_key
            AS _scd_agrees,
        ROW_NUMBER() OVER by_key AS _scd_row
    FROM extract
    WINDOW by_key AS (PARTITION BY id, region ORDER BY _scd_sequence_1 DESC, _scd_sequence_2 DESC)
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
        t.valid_from AS _scd_from,
        t.valid_to AS _scd_until,
        ROW_NUMBER() OVER newest_first AS _scd_row
    FROM crm.customer AS t
    WHERE (t.valid_to IS NULL OR t.valid_to >= _scd_taken_at)
    WINDOW newest_first AS (PARTITION BY t.id, t.region ORDER BY t.valid_from DESC)
    DISTRIBUTE BY id, region -- like the extract, for the join
),
compared AS (
    -- Only keys that differ: missing from the extract, new, changed, or back again.
    SELECT
        COALESCE(n.id, o.id) AS id,
        COALESCE(n.region, o.region) AS region,
        n.name, n.city, n.bucket,
        _scd_taken_at AS _scd_at,
        o._scd_from, o._scd_until,
        CASE
            WHEN n.id IS NULL THEN ARRAY('close')
            WHEN o.id IS NULL THEN ARRAY('open')
            WHEN STRUCT(n.name, n.city, n.bucket) <=> STRUCT(o.name, o.city, o.bucket) THEN ARRAY('correct')
            WHEN o._scd_until IS NOT NULL THEN ARRAY('open')
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
            ELSE NOT (STRUCT(n.name, n.city, n.bucket) <=> STRUCT(o.name, o.city, o.bucket))
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
staged AS (
    -- Rows to write, with their history columns.
    SELECT
        _scd_action,
        id, region, name, city, bucket,
        _scd_start AS valid_from,
        _scd_next AS valid_to,
        _scd_next IS NULL AS is_current
    FROM versions
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
        s.valid_from AS _scd_start,
        IF(
            t.id IS NOT NULL,
            STRUCT(t.id, t.region, t.name, t.city, t.bucket, t.valid_from, t.valid_to, t.is_current),
            NULL
        ) AS _scd_old,
        STRUCT(
            s.id, s.region, CASE WHEN t.id IS NULL THEN s.name ELSE t.name END AS name,
            CASE WHEN t.id IS NULL THEN s.city ELSE t.city END AS city,
            CASE WHEN t.id IS NULL THEN s.bucket ELSE t.bucket END AS bucket, s.valid_from,
            s.valid_to, s.is_current
        ) AS _scd_new,
        t.id IS NOT NULL AND t.valid_to IS NULL AS _scd_current,
        BOOL_OR(t.id IS NOT NULL AND t.valid_to IS NULL)
            OVER by_key AS _scd_lives,
        BOOL_OR(t.id IS NOT NULL OR k.id IS NOT NULL) OVER by_key AS _scd_known,
        MIN(CASE WHEN s._scd_action IS NOT NULL THEN s.valid_from END) OVER by_key AS _scd_first_write,
        COALESCE(BOOL_OR(s.valid_to IS NULL) OVER by_key, FALSE) AS _scd_stays
    FROM staged AS s
    FULL OUTER JOIN snapshot AS n
        ON n.id = s.id AND n.region = s.region
    LEFT JOIN crm.customer AS t
        ON t.id = s.id
            AND t.region = s.region
            AND t.valid_from = s.valid_from
            AND (t.valid_to IS NULL OR t.valid_to >= _scd_taken_at)
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
            WHERE t.valid_to IS NULL
        ) AS current_keys
    FROM _scd_plan
);

-- Some rows of each action; a value that would change is shown as `old -> new`.
SELECT
    _scd_action AS change,
    CONCAT_WS(', ', CASE WHEN _scd_deletes THEN 'deletes' END) AS note,
    id,
    region,
    _scd_new.name,
    _scd_new.city,
    _scd_new.bucket,
    _scd_new.valid_from,
    ARRAY_JOIN(
        ARRAY_DISTINCT(ARRAY(CAST(_scd_old.valid_to AS STRING), CAST(_scd_new.valid_to AS STRING))),
        ' -> ', 'NULL'
    ) AS valid_to,
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
