-- shop.orders: Orders, moved here from the table of a dbt snapshot
-- Replaces the history of each key in the source with that of the source: a stored version with a start that the source
-- does not have is removed. Equal neighbours become one version. An end at which no other row starts is a delete; other
-- keys stay as they are. Stops and writes nothing if a key or time is NULL, rows of one key and time differ, a row does
-- not end after its start, or two rows of one key overlap. The same source again changes nothing.
-- Generated from specs/orders.yml. To change it, edit the spec and run `scdgen generate`.

MERGE INTO shop.orders AS t USING (
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
        FROM source_rows
            LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
        WHERE CASE
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
        -- Each row with the previous and the last row of its key.
        SELECT
            *,
            LAG(STRUCT(status, note, _scd_until, _scd_at)) OVER by_key AS _scd_before,
            LAG(STRUCT(note, _scd_until)) OVER by_key AS _scd_ended,
            LAST_VALUE(STRUCT(note, _scd_until)) OVER whole_key AS _scd_last
        FROM given
        WINDOW
            by_key AS (PARTITION BY order_id ORDER BY _scd_at),
            whole_key AS (
                PARTITION BY order_id
                ORDER BY _scd_at
                ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
            )
    ),
    timeline AS (
        -- The rows that begin a version: a copy does not, nor does an equal neighbour without a gap.
        -- Rows that contradict each other or overlap stop the statement.
        SELECT *
        FROM neighbours
        WHERE CASE
            WHEN _scd_before IS NULL THEN TRUE
            WHEN _scd_before <=> STRUCT(status, note, _scd_until, _scd_at) THEN FALSE
            WHEN _scd_before._scd_at = _scd_at
                THEN RAISE_ERROR(
                    '[SCDGEN_CONFLICT] shop.orders: two different rows of one key and time: '
                        || TO_JSON(STRUCT(order_id, _scd_at))
                )
            WHEN _scd_before._scd_until <= _scd_at
                THEN NOT (STRUCT(status, _scd_at) <=> STRUCT(_scd_before.status, _scd_before._scd_until AS _scd_at))
            ELSE RAISE_ERROR(
                '[SCDGEN_OVERLAP] shop.orders: a version begins before the one before it has ended: '
                    || TO_JSON(STRUCT(order_id, _scd_at))
            )
        END
    ),
    folded AS (
        -- From the last row of a version, before the next begins: its end and untracked values.
        SELECT
            order_id,
            status,
            _scd_at,
            LEAD(_scd_ended.note, 1, _scd_last.note) OVER by_key AS note,
            LEAD(_scd_ended._scd_until, 1, _scd_last._scd_until) OVER by_key AS _scd_until
        FROM timeline
        WINDOW by_key AS (PARTITION BY order_id ORDER BY _scd_at)
    ),
    versions AS (
        -- What comes right before and after each version.
        SELECT
            order_id,
            status,
            note,
            _scd_at,
            _scd_until,
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
                WHEN NOT (
                    _scd_stored <=> STRUCT(
                        status,
                        note,
                        CASE WHEN _scd_ends_deleted THEN 'D' WHEN _scd_begins THEN 'I' ELSE 'U' END AS action,
                        _scd_until
                    )
                )
                    THEN IF(_scd_stored._scd_until IS NULL AND _scd_until IS NOT NULL, 'close', 'correct')
            END AS _scd_action,
            order_id,
            status,
            note,
            _scd_at AS valid_from,
            _scd_until AS valid_to,
            _scd_until IS NULL AS is_current,
            CASE WHEN _scd_ends_deleted THEN 'D' WHEN _scd_begins THEN 'I' ELSE 'U' END AS action
        FROM versions AS _scd_given
        FULL OUTER JOIN stored USING (order_id, _scd_at)
    )
    SELECT * FROM staged WHERE _scd_action IS NOT NULL
) AS s
    -- A key and a start identify a version.
    ON t.order_id = s.order_id AND t.valid_from = s.valid_from
-- The source has no version with this start.
WHEN MATCHED AND s._scd_action = 'fold' THEN DELETE
-- A stored version whose end or values change; both are written.
WHEN MATCHED THEN
    UPDATE SET status = s.status, note = s.note, valid_to = s.valid_to, is_current = s.is_current, action = s.action
-- A version that is not stored yet.
WHEN NOT MATCHED THEN
    INSERT (order_id, status, note, valid_from, valid_to, is_current, action)
    VALUES (s.order_id, s.status, s.note, s.valid_from, s.valid_to, s.is_current, s.action);
