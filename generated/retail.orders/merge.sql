-- retail.orders: The facts, one row per order; guests order without a customer
-- Keeps one row per key, with its values in the last batch that has the key.
-- Stops if: a key is NULL, a year is not in 1 to 9999, rows of one key differ, or the session's settings change the
-- result.
-- Generated from specs/sales/orders.yml. To change it, edit the spec and run `scdgen generate`.

MERGE INTO retail.orders AS t USING (
    WITH source_rows AS (
        -- The source's rows, with the target's column names and types.
        SELECT
            CAST(order_id AS INT) AS order_id,
            STRUCT(
                CAST(customer_id AS INT) AS customer_id,
                CAST(ordered_at AS TIMESTAMP) AS ordered_at,
                CAST(amount AS DECIMAL(10, 2)) AS amount
            ) AS _scd_state
        FROM retail_landing.order_rows
    )
    -- One row per key. A row that breaks a rule stops the statement.
    SELECT order_id, MIN(_scd_state) AS _scd_state
    FROM source_rows
    GROUP BY order_id
    HAVING CASE
        WHEN TYPEOF(COALESCE(1, '')) = 'string' OR TYPEOF(CAST(NULL AS TIMESTAMP)) <> 'timestamp'
            THEN RAISE_ERROR('[SCDGEN_SETTINGS] retail.orders: needs ANSI mode and TIMESTAMP_LTZ')
        WHEN CURRENT_TIMEZONE() NOT IN ('UTC', 'Etc/UTC', 'GMT')
            THEN RAISE_ERROR('[SCDGEN_TIME_ZONE] retail.orders: run SET TIME ZONE \'UTC\' first')
        WHEN order_id IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] retail.orders: order_id is NULL')
        WHEN BOOL_OR(YEAR(_scd_state.ordered_at) NOT BETWEEN 1 AND 9999)
            THEN RAISE_ERROR('[SCDGEN_YEAR] retail.orders: year not in 1-9999')
        WHEN MIN(_scd_state) IS DISTINCT FROM MAX(_scd_state)
            THEN RAISE_ERROR('[SCDGEN_CONFLICT] retail.orders: two rows differ: ' || TO_JSON(STRUCT(order_id)))
        ELSE TRUE
    END
) AS s
    -- A key identifies a row.
    ON t.order_id = s.order_id
-- A stored row that changes.
WHEN MATCHED AND s._scd_state IS DISTINCT FROM STRUCT(t.customer_id, t.ordered_at, t.amount) THEN UPDATE SET
    customer_id = s._scd_state.customer_id, ordered_at = s._scd_state.ordered_at, amount = s._scd_state.amount
-- A new key.
WHEN NOT MATCHED THEN INSERT (order_id, customer_id, ordered_at, amount)
    VALUES (s.order_id, s._scd_state.customer_id, s._scd_state.ordered_at, s._scd_state.amount);
