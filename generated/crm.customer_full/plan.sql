-- crm.customer_full: Customers, from a full extract; a customer that is gone from it is closed
-- Shows what merge.sql would do: how much, then some of its rows. Writes nothing.
-- Generated from specs/customer_full.yml. To change it, edit the spec and run `scdgen generate`.
-- Set before this runs: DECLARE OR REPLACE VARIABLE taken TIMESTAMP DEFAULT ...;

-- Every row of the extract takes effect at this time.
DECLARE OR REPLACE VARIABLE _scd_taken_at TIMESTAMP;

SET VARIABLE _scd_taken_at = CASE
    WHEN CAST(session.taken AS TIMESTAMP) < TIMESTAMP '9999-12-31 23:59:59.999 UTC'
        THEN CAST(session.taken AS TIMESTAMP)
    ELSE RAISE_ERROR(
        '[SCDGEN_NULL_TIME] crm.customer_full: snapshot.taken_at is NULL or not before the open end'
    )
END;

-- A row per version that the MERGE would write or remove: _scd_old is what is stored, _scd_new what it becomes.
-- Plus one row for each key of the source that needs no change. The steps up to "staged" are those of merge.sql.
CREATE OR REPLACE TEMPORARY VIEW _scd_plan AS
WITH source_rows AS (
    -- The source's rows, with the target's column names and types.
    SELECT
        CAST(customer_no AS STRING) AS customer_no,
        CAST(name AS STRING) AS name
    FROM crm.customer_extract
),
extract AS (
    -- A row that breaks a rule stops the statement, as does a session that would read values differently.
    -- EXPLODE keeps Spark from testing rows that the source's own filters drop.
    SELECT *
    FROM source_rows LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
    WHERE
        CASE
            WHEN NOT _scd_kept THEN FALSE
            WHEN TYPEOF(COALESCE(1, '')) = 'string' OR TYPEOF(CAST(NULL AS TIMESTAMP)) <> 'timestamp'
                THEN RAISE_ERROR('[SCDGEN_SETTINGS] crm.customer_full: needs ANSI mode and TIMESTAMP_LTZ')
            WHEN CURRENT_TIMEZONE() NOT IN ('UTC', 'Etc/UTC', 'GMT')
                THEN RAISE_ERROR('[SCDGEN_TIME_ZONE] crm.customer_full: run SET TIME ZONE \'UTC\' first')
            WHEN customer_no IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] crm.customer_full: customer_no is NULL')
            ELSE TRUE
        END
    UNION ALL
    -- An empty extract would close every version, so it stops the statement.
    SELECT
        RAISE_ERROR('[SCDGEN_EMPTY_SNAPSHOT] crm.customer_full: the snapshot is empty'),
        NULL, NULL
    WHERE NOT EXISTS (SELECT 1 FROM source_rows)
    DISTRIBUTE BY customer_no -- one shuffle for the window and the join
),
ranked AS (
    -- Exact copies of a row count once.
    SELECT
        *,
        LAG(STRUCT(name)) OVER by_key AS _scd_before
    FROM extract
    WINDOW by_key AS (PARTITION BY customer_no ORDER BY customer_no)
),
snapshot AS (
    -- One row per key; two rows that contradict each other stop the statement.
    SELECT *
    FROM ranked
    WHERE
        CASE
            WHEN _scd_before IS NULL THEN TRUE
            WHEN _scd_before <=> STRUCT(name) THEN FALSE
            ELSE RAISE_ERROR(
                '[SCDGEN_CONFLICT] crm.customer_full: two different rows of one key: '
                || TO_JSON(STRUCT(customer_no))
            )
        END
),
stored AS (
    -- Open versions, and those that ended at the time of this extract or later, as when it is loaded again.
    SELECT
        t.customer_no, t.name,
        t.effective_ts AS _scd_from,
        NULLIF(t.expiry_ts, TIMESTAMP '9999-12-31 23:59:59.999 UTC') + INTERVAL '1' MILLISECOND AS _scd_until,
        LAG(t.effective_ts) OVER newest_first IS NULL AS _scd_newest
    FROM crm.customer_full AS t
    WHERE t.expiry_ts >= _scd_taken_at - INTERVAL '1' MILLISECOND
    WINDOW newest_first AS (PARTITION BY t.customer_no ORDER BY t.effective_ts DESC)
),
compared AS (
    -- What to do per key: nothing if it is the same.
    SELECT
        COALESCE(n.customer_no, o.customer_no) AS customer_no,
        n.name,
        _scd_taken_at AS _scd_at,
        o._scd_from, o._scd_until,
        CASE
            -- Missing: its version ends.
            WHEN n.customer_no IS NULL THEN IF(o._scd_until IS NULL, ARRAY('close'), ARRAY())
            -- No version, or its last one ended before this extract.
            WHEN o.customer_no IS NULL THEN ARRAY('open')
            WHEN STRUCT(n.name) <=> STRUCT(o.name) THEN IF(o._scd_until IS NULL, ARRAY(), ARRAY('correct'))
            -- Its last version ended at this time or later, and differs.
            WHEN o._scd_until IS NOT NULL THEN ARRAY('open')
            ELSE ARRAY('close', 'open')
        END AS _scd_actions
    FROM snapshot AS n
    FULL OUTER JOIN (SELECT * FROM stored WHERE _scd_newest) AS o
        ON n.customer_no = o.customer_no
),
versions AS (
    -- A changed key closes a version and opens another.
    -- Closing a version that is too new stops the run.
    SELECT
        *,
        CASE WHEN _scd_action = 'open' THEN GREATEST(_scd_at, _scd_until) ELSE _scd_from END AS _scd_start,
        CASE WHEN _scd_action = 'close' THEN _scd_at END AS _scd_next
    FROM compared
        LATERAL VIEW EXPLODE(_scd_actions) p AS _scd_action
    WHERE
        CASE
            WHEN _scd_action = 'close' AND _scd_at <= _scd_from THEN RAISE_ERROR(
                '[SCDGEN_TAKEN_AT] crm.customer_full: the snapshot is not newer than a version that it closes: '
                || TO_JSON(STRUCT(customer_no, _scd_from))
            )
            ELSE TRUE
        END
),
staged AS (
    -- Rows to write, with their history columns.
    SELECT
        _scd_action,
        customer_no, name,
        _scd_start AS effective_ts,
        COALESCE(_scd_next - INTERVAL '1' MILLISECOND, TIMESTAMP '9999-12-31 23:59:59.999 UTC') AS expiry_ts,
        CASE WHEN _scd_next IS NULL THEN 1 ELSE 0 END AS is_current
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
    customer_no,
    _scd_start,
    _scd_old,
    _scd_new,
    -- Whether the current version of a key ends, and whether the key is deleted by that.
    _scd_current AND (_scd_action <=> 'close' OR NOT _scd_stays) AS _scd_closes,
    _scd_current AND NOT _scd_stays AS _scd_deletes,
    -- What happens to the key, in one of its rows only.
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
        COALESCE(s.customer_no, n.customer_no) AS customer_no,
        s.effective_ts AS _scd_start,
        IF(
            t.customer_no IS NOT NULL,
            STRUCT(t.customer_no, t.name, t.effective_ts, t.expiry_ts, t.is_current),
            NULL
        ) AS _scd_old,
        STRUCT(
            s.customer_no, CASE WHEN t.customer_no IS NULL THEN s.name ELSE t.name END AS name,
            s.effective_ts, s.expiry_ts, s.is_current
        ) AS _scd_new,
        t.customer_no IS NOT NULL AND t.expiry_ts = TIMESTAMP '9999-12-31 23:59:59.999 UTC' AS _scd_current,
        BOOL_OR(t.customer_no IS NOT NULL AND t.expiry_ts = TIMESTAMP '9999-12-31 23:59:59.999 UTC')
            OVER by_key AS _scd_lives,
        BOOL_OR(t.customer_no IS NOT NULL OR k.customer_no IS NOT NULL) OVER by_key AS _scd_known,
        MIN(CASE WHEN s._scd_action IS NOT NULL THEN s.effective_ts END) OVER by_key AS _scd_first_write,
        COALESCE(BOOL_OR(s.expiry_ts = TIMESTAMP '9999-12-31 23:59:59.999 UTC') OVER by_key, FALSE) AS _scd_stays
    FROM staged AS s
    FULL OUTER JOIN snapshot AS n
        ON n.customer_no = s.customer_no
    LEFT JOIN crm.customer_full AS t
        ON t.customer_no = s.customer_no
            AND t.effective_ts = s.effective_ts
            AND t.expiry_ts >= _scd_taken_at - INTERVAL '1' MILLISECOND
    LEFT JOIN (
        -- The keys of the table, those deleted long ago too: they return, and are not new.
        SELECT
            v.customer_no
        FROM crm.customer_full AS v
        GROUP BY v.customer_no
    ) AS k
        ON k.customer_no = s.customer_no
    WINDOW by_key AS (PARTITION BY COALESCE(s.customer_no, n.customer_no))
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
            FROM crm.customer_full AS t
            WHERE t.expiry_ts = TIMESTAMP '9999-12-31 23:59:59.999 UTC'
        ) AS current_keys
    FROM _scd_plan
);

-- Some rows of each action; a value that would change is shown as `old -> new`.
SELECT
    _scd_action AS change,
    CONCAT_WS(', ', CASE WHEN _scd_deletes THEN 'deletes' END) AS note,
    customer_no,
    _scd_new.name,
    _scd_new.effective_ts,
    ARRAY_JOIN(
        ARRAY_DISTINCT(ARRAY(CAST(_scd_old.expiry_ts AS STRING), CAST(_scd_new.expiry_ts AS STRING))),
        ' -> ', 'NULL'
    ) AS expiry_ts,
    ARRAY_JOIN(
        ARRAY_DISTINCT(ARRAY(CAST(_scd_old.is_current AS STRING), CAST(_scd_new.is_current AS STRING))),
        ' -> ', 'NULL'
    ) AS is_current
FROM (
    SELECT
        _scd_action, _scd_deletes, _scd_start, customer_no,
        COALESCE(_scd_old, _scd_new) AS _scd_old,
        COALESCE(_scd_new, _scd_old) AS _scd_new,
        ROW_NUMBER() OVER (PARTITION BY _scd_action, _scd_deletes ORDER BY customer_no, _scd_start) AS _scd_row
    FROM _scd_plan
    WHERE _scd_action <> 'unchanged'
)
WHERE _scd_row <= 5
ORDER BY customer_no, _scd_start, _scd_action;
