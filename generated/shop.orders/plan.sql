-- shop.orders: Orders, moved here from the table of a dbt snapshot
-- Shows what merge.sql would do: how much, then some of its rows. Writes nothing.
-- Generated from specs/orders.yml. To change it, edit the spec and run `scdgen generate`.

-- A row per version that the MERGE would write or remove: _scd_old is what is stored, _scd_new what it becomes.
-- Plus one row for each key of the source that needs no change. The steps up to "staged" are those of merge.sql.
CREATE OR REPLACE TEMPORARY VIEW _scd_plan AS
WITH source_rows AS (
    -- The source's rows, with the target's column names and types.
    SELECT
        CAST(id AS INT) AS order_id,
        CAST(status AS STRING) AS status,
        CAST(note AS STRING) AS note,
        CAST(dbt_valid_from AS TIMESTAMP) AS _scd_at,
        CAST(dbt_valid_to AS TIMESTAMP) AS _scd_until
    FROM snapshots.orders_snapshot
    WHERE dbt_is_deleted = 'False'
),
given AS (
    -- A row that breaks a rule stops the statement, as does a session that would read values differently.
    -- EXPLODE keeps Spark from testing rows that the source's own filters drop.
    SELECT *
    FROM source_rows LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
    WHERE
        CASE
            WHEN NOT _scd_kept THEN FALSE
            WHEN TYPEOF(COALESCE(1, '')) = 'string' OR TYPEOF(CAST(NULL AS TIMESTAMP)) <> 'timestamp'
                THEN RAISE_ERROR('[SCDGEN_SETTINGS] shop.orders: needs ANSI mode and TIMESTAMP_LTZ')
            WHEN CURRENT_TIMEZONE() NOT IN ('UTC', 'Etc/UTC', 'GMT')
                THEN RAISE_ERROR('[SCDGEN_TIME_ZONE] shop.orders: run SET TIME ZONE \'UTC\' first')
            WHEN order_id IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] shop.orders: order_id is NULL')
            WHEN YEAR(LEAST(_scd_at, _scd_until)) < 1 OR YEAR(GREATEST(_scd_at, _scd_until)) > 9999
                THEN RAISE_ERROR('[SCDGEN_YEAR] shop.orders: a time is not in the years 1 to 9999')
            WHEN _scd_at IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_TIME] shop.orders: dbt_valid_from is NULL')
            WHEN _scd_until <= _scd_at
                THEN RAISE_ERROR('[SCDGEN_END_BEFORE_START] shop.orders: dbt_valid_to is not after dbt_valid_from')
            ELSE TRUE
        END
),
neighbours AS (
    -- Each row with the previous row of its key.
    SELECT
        *,
        LAG(STRUCT(status, note, _scd_until, _scd_at)) OVER by_key AS _scd_before
    FROM given
    WINDOW by_key AS (PARTITION BY order_id ORDER BY _scd_at)
),
timeline AS (
    -- Exact copies of a row count once; rows that contradict each other or overlap stop the statement.
    SELECT *
    FROM neighbours
    WHERE
        CASE
            WHEN _scd_before IS NULL THEN TRUE
            WHEN _scd_before <=> STRUCT(status, note, _scd_until, _scd_at) THEN FALSE
            WHEN _scd_before._scd_at = _scd_at THEN RAISE_ERROR(
                '[SCDGEN_CONFLICT] shop.orders: two different rows of one key and time: '
                || TO_JSON(STRUCT(order_id, _scd_at))
            )
            WHEN _scd_before._scd_until <= _scd_at THEN TRUE
            ELSE RAISE_ERROR(
                '[SCDGEN_OVERLAP] shop.orders: a version begins before the one before it has ended: '
                || TO_JSON(STRUCT(order_id, _scd_at))
            )
        END
),
runs AS (
    -- Equal neighbours without a gap between them share a number.
    SELECT
        *,
        COUNT_IF(
            NOT (STRUCT(status, _scd_at)
                <=> STRUCT(_scd_before.status, _scd_before._scd_until AS _scd_at))
        ) OVER by_key AS _scd_run
    FROM timeline
    WINDOW by_key AS (PARTITION BY order_id ORDER BY _scd_at)
),
folded AS (
    -- One version per number: the first start, the last end.
    SELECT
        r.order_id,
        MIN_BY(r.status, r._scd_at) AS status,
        MAX_BY(r.note, r._scd_at) AS note,
        MIN(r._scd_at) AS _scd_at,
        MAX_BY(r._scd_until, r._scd_at) AS _scd_until
    FROM runs AS r
    GROUP BY r.order_id, r._scd_run
),
versions AS (
    -- What comes right before and after each version.
    SELECT
        order_id, status, note, _scd_at, _scd_until,
        _scd_until IS NOT NULL AND NOT (_scd_until <=> LEAD(_scd_at) OVER by_key) AS _scd_ends_deleted,
        _scd_at IS DISTINCT FROM LAG(_scd_until) OVER by_key AS _scd_begins
    FROM folded
    WINDOW by_key AS (PARTITION BY order_id ORDER BY _scd_at)
),
stored AS (
    -- The stored versions of the source's keys.
    SELECT
        t.order_id,
        t.valid_from AS _scd_at,
        STRUCT(t.status, t.note, t.action, t.valid_to AS _scd_until) AS _scd_stored
    FROM shop.orders AS t
    LEFT SEMI JOIN given AS g ON t.order_id = g.order_id
),
staged AS (
    -- Every version of these keys, given or stored; the action is NULL if the stored version is already right.
    SELECT
        CASE
            WHEN _scd_stored IS NULL THEN 'open'
            WHEN _scd_given._scd_at IS NULL THEN 'fold'
            WHEN NOT (_scd_stored
                <=> STRUCT(
                    status, note,
                    CASE WHEN _scd_ends_deleted THEN 'D' WHEN _scd_begins THEN 'I' ELSE 'U' END AS action,
                    _scd_until
                ))
                THEN IF(_scd_stored._scd_until IS NULL AND _scd_until IS NOT NULL, 'close', 'correct')
        END AS _scd_action,
        order_id, status, note,
        _scd_at AS valid_from,
        _scd_until AS valid_to,
        _scd_until IS NULL AS is_current,
        CASE WHEN _scd_ends_deleted THEN 'D' WHEN _scd_begins THEN 'I' ELSE 'U' END AS action
    FROM versions AS _scd_given
    FULL OUTER JOIN stored USING (order_id, _scd_at)
)
SELECT
    CASE _scd_action
        WHEN 'open' THEN 'opened'
        WHEN 'close' THEN 'closed'
        WHEN 'correct' THEN 'corrected'
        WHEN 'fold' THEN 'folded'
        ELSE 'unchanged'
    END AS _scd_action,
    order_id,
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
        s.order_id,
        s.valid_from AS _scd_start,
        IF(
            t.order_id IS NOT NULL,
            STRUCT(t.order_id, t.status, t.note, t.valid_from, t.valid_to, t.is_current, t.action),
            NULL
        ) AS _scd_old,
        IF(
            s._scd_action <> 'fold',
            STRUCT(s.order_id, s.status, s.note, s.valid_from, s.valid_to, s.is_current, s.action),
            NULL
        ) AS _scd_new,
        COUNT(s._scd_action) OVER by_key = 0 AND ROW_NUMBER() OVER in_order = 1 AS _scd_idle,
        t.order_id IS NOT NULL AND t.valid_to IS NULL AS _scd_current,
        BOOL_OR(t.order_id IS NOT NULL AND t.valid_to IS NULL)
            OVER by_key AS _scd_lives,
        BOOL_OR(t.order_id IS NOT NULL) OVER by_key AS _scd_known,
        MIN(CASE WHEN s._scd_action IS NOT NULL THEN s.valid_from END) OVER by_key AS _scd_first_write,
        COALESCE(BOOL_OR(CASE
            WHEN s._scd_action IS NULL THEN t.order_id IS NOT NULL AND t.valid_to IS NULL
            WHEN s._scd_action <> 'fold' THEN s.valid_to IS NULL
        END) OVER by_key, FALSE) AS _scd_stays
    FROM staged AS s
    FULL OUTER JOIN (SELECT 1 WHERE FALSE) ON TRUE -- adds no row; without it, planning time doubles with each column
    LEFT JOIN shop.orders AS t
        ON t.order_id = s.order_id AND t.valid_from = s.valid_from
    WINDOW
        by_key AS (PARTITION BY s.order_id),
        in_order AS (PARTITION BY s.order_id ORDER BY s.valid_from)
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
            FROM shop.orders AS t
            WHERE t.valid_to IS NULL
        ) AS current_keys
    FROM _scd_plan
);

-- Some rows of each action; a value that would change is shown as `old -> new`.
SELECT
    _scd_action AS change,
    CONCAT_WS(', ', CASE WHEN _scd_deletes THEN 'deletes' END) AS _scd_note,
    order_id,
    ARRAY_JOIN(
        ARRAY_DISTINCT(ARRAY(_scd_old.status, _scd_new.status)),
        ' -> ', 'NULL'
    ) AS status,
    ARRAY_JOIN(
        ARRAY_DISTINCT(ARRAY(_scd_old.note, _scd_new.note)),
        ' -> ', 'NULL'
    ) AS note,
    _scd_new.valid_from,
    ARRAY_JOIN(
        ARRAY_DISTINCT(ARRAY(CAST(_scd_old.valid_to AS STRING), CAST(_scd_new.valid_to AS STRING))),
        ' -> ', 'NULL'
    ) AS valid_to,
    ARRAY_JOIN(
        ARRAY_DISTINCT(ARRAY(CAST(_scd_old.is_current AS STRING), CAST(_scd_new.is_current AS STRING))),
        ' -> ', 'NULL'
    ) AS is_current,
    ARRAY_JOIN(
        ARRAY_DISTINCT(ARRAY(_scd_old.action, _scd_new.action)),
        ' -> ', 'NULL'
    ) AS action
FROM (
    SELECT
        _scd_action, _scd_deletes, _scd_start, order_id,
        COALESCE(_scd_old, _scd_new) AS _scd_old,
        COALESCE(_scd_new, _scd_old) AS _scd_new,
        ROW_NUMBER() OVER (PARTITION BY _scd_action, _scd_deletes ORDER BY order_id, _scd_start) AS _scd_row
    FROM _scd_plan
    WHERE _scd_action <> 'unchanged'
)
WHERE _scd_row <= 5
ORDER BY order_id, _scd_start, _scd_action;
