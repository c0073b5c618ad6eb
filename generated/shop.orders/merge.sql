-- shop.orders: Orders, moved here from the table of a dbt snapshot
-- Replaces the history of each key in the source with that of the source; other keys stay as they are.
-- Stored versions: are removed if the source has their key, and no such start.
-- Rows that change nothing: equal neighbours are one version.
-- Deletes: a gap after a row is a delete.
-- Stops if: a key or time is NULL, a year is not in 1 to 9999, rows of one key and time differ, a row does not end
-- after its start, two rows of one key overlap, or the session's settings change the result.
-- Generated from specs/orders.yml. To change it, edit the spec and run `scdgen generate`.

MERGE INTO shop.orders AS t USING (
    WITH source_rows AS (
        -- The source's rows, with the target's column names and types.
        -- _scd_rest has the columns with `track: false`.
        SELECT
            CAST(id AS INT) AS order_id,
            STRUCT(CAST(status AS STRING) AS status) AS _scd_state,
            STRUCT(CAST(note AS STRING) AS note) AS _scd_rest,
            CAST(dbt_valid_from AS TIMESTAMP) AS _scd_at,
            CAST(dbt_valid_to AS TIMESTAMP) AS _scd_to
        FROM snapshots.orders_snapshot
        WHERE dbt_is_deleted = 'False'
        DISTRIBUTE BY order_id -- one shuffle serves all steps until the versions
    ),
    given AS (
        -- One row per key and start: copies of a row count once. A row that breaks a rule stops the statement.
        SELECT
            order_id, _scd_at,
            MIN(_scd_to) AS _scd_to,
            MIN(_scd_state) AS _scd_state,
            MIN(_scd_rest) AS _scd_rest
        FROM source_rows
        GROUP BY order_id, _scd_at
        HAVING CASE
            WHEN TYPEOF(COALESCE(1, '')) = 'string' OR TYPEOF(CAST(NULL AS TIMESTAMP)) <> 'timestamp'
                THEN RAISE_ERROR('[SCDGEN_SETTINGS] shop.orders: needs ANSI mode and TIMESTAMP_LTZ')
            WHEN CURRENT_TIMEZONE() NOT IN ('UTC', 'Etc/UTC', 'GMT')
                THEN RAISE_ERROR('[SCDGEN_TIME_ZONE] shop.orders: run SET TIME ZONE \'UTC\' first')
            WHEN order_id IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] shop.orders: order_id is NULL')
            WHEN BOOL_OR(
                YEAR(LEAST(_scd_at, _scd_to)) NOT BETWEEN 1 AND 9999
                    OR YEAR(GREATEST(_scd_at, _scd_to)) NOT BETWEEN 1 AND 9999
            )
                THEN RAISE_ERROR('[SCDGEN_YEAR] shop.orders: year not in 1-9999')
            WHEN _scd_at IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_TIME] shop.orders: dbt_valid_from is NULL')
            WHEN BOOL_OR(_scd_to <= _scd_at)
                THEN RAISE_ERROR('[SCDGEN_END_BEFORE_START] shop.orders: dbt_valid_to is not after dbt_valid_from')
            WHEN MIN(_scd_state) IS DISTINCT FROM MAX(_scd_state)
                OR MIN(_scd_rest) IS DISTINCT FROM MAX(_scd_rest)
                OR MIN(STRUCT(_scd_to)) IS DISTINCT FROM MAX(STRUCT(_scd_to))
                THEN RAISE_ERROR('[SCDGEN_CONFLICT] shop.orders: two rows differ: '
                    || TO_JSON(STRUCT(order_id, _scd_at)))
            ELSE TRUE
        END
    ),
    neighbours AS (
        -- Each row, with the state and the end of the one before, and the start of the next.
        SELECT *, LAG(STRUCT(_scd_state, _scd_to)) OVER by_key AS _scd_before, LEAD(_scd_at) OVER by_key AS _scd_next
        FROM given
        WINDOW by_key AS (PARTITION BY order_id ORDER BY _scd_at)
    ),
    runs AS (
        -- Numbers the versions: a row that only continues the one before begins none. An overlap stops the statement.
        SELECT
            *,
            COUNT_IF(_scd_state IS DISTINCT FROM _scd_before._scd_state OR _scd_at IS DISTINCT FROM _scd_before._scd_to)
                OVER (PARTITION BY order_id ORDER BY _scd_at) AS _scd_run
        FROM neighbours
        WHERE CASE
            WHEN _scd_before IS NULL OR _scd_before._scd_to <= _scd_at THEN TRUE
            ELSE RAISE_ERROR('[SCDGEN_OVERLAP] shop.orders: a version begins before the one before it has ended: '
                || TO_JSON(STRUCT(order_id, _scd_at)))
        END
    ),
    versions AS (
        -- A version begins with its first row and ends with its last. Action: D before a gap, else I after one, else U.
        SELECT
            order_id,
            MIN_BY(_scd_state, _scd_at) AS _scd_state,
            MAX_BY(_scd_rest, _scd_at) AS _scd_rest,
            MIN(_scd_at) AS _scd_at,
            MAX_BY(_scd_to, _scd_at) AS _scd_to,
            CASE
                WHEN BOOL_OR(_scd_to IS DISTINCT FROM _scd_next) THEN 'D'
                WHEN BOOL_OR(_scd_at IS DISTINCT FROM _scd_before._scd_to) THEN 'I'
                ELSE 'U'
            END AS action
        FROM runs
        GROUP BY order_id, _scd_run
    ),
    stored AS (
        -- The stored versions of the keys to merge.
        SELECT
            t.order_id, t.valid_from AS _scd_at,
            STRUCT(
                STRUCT(t.status) AS _scd_state, STRUCT(t.note) AS _scd_rest, t.action, t.valid_to AS _scd_to
            ) AS _scd_stored
        FROM shop.orders AS t
        LEFT SEMI JOIN source_rows AS g ON t.order_id = g.order_id
    )
    -- What differs from what is stored.
    SELECT
        order_id, _scd_state.*, _scd_rest.*, _scd_at AS valid_from, _scd_to AS valid_to,
        _scd_to IS NULL AS is_current,
        action,
        _scd_state IS NOT NULL AS _scd_opens
    FROM versions
    FULL OUTER JOIN stored USING (order_id, _scd_at)
    WHERE _scd_stored
        IS DISTINCT FROM CASE WHEN _scd_state IS NOT NULL THEN STRUCT(_scd_state, _scd_rest, action, _scd_to) END
) AS s
    -- A key and a start identify a version.
    ON t.order_id = s.order_id AND t.valid_from = s.valid_from
-- No version starts here any more.
WHEN MATCHED AND NOT s._scd_opens THEN DELETE
WHEN MATCHED THEN UPDATE SET
    status = s.status, note = s.note, valid_to = s.valid_to, is_current = s.is_current, action = s.action
WHEN NOT MATCHED THEN INSERT (order_id, status, note, valid_from, valid_to, is_current, action)
    VALUES (s.order_id, s.status, s.note, s.valid_from, s.valid_to, s.is_current, s.action);
