-- retail.orders: The facts, one row per order; guests order without a customer
-- Keeps one row per key, with its values in the last batch that has the key. Stops and writes nothing if a key is NULL,
-- or rows of one key differ.
-- Generated from specs/sales/orders.yml. To change it, edit the spec and run `scdgen generate`.

MERGE INTO retail.orders AS t USING (
    WITH source_rows AS (
        -- The source's rows, with the target's column names and types.
        SELECT
            CAST(order_id AS INT) AS order_id,
            CAST(customer_id AS INT) AS customer_id,
            CAST(ordered_at AS TIMESTAMP) AS ordered_at,
            CAST(amount AS DECIMAL(10, 2)) AS amount
        FROM retail_landing.order_rows
    ),
    changes AS (
        -- A row that breaks a rule stops the statement, as does a session that would read values differently.
        -- EXPLODE keeps Spark from testing rows that the source's own filters drop.
        SELECT *
        FROM source_rows
            LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
        WHERE CASE
            WHEN NOT _scd_kept THEN FALSE
            WHEN TYPEOF(COALESCE(1, '')) = 'string' OR TYPEOF(CAST(NULL AS TIMESTAMP)) <> 'timestamp'
                THEN RAISE_ERROR('[SCDGEN_SETTINGS] retail.orders: needs ANSI mode and TIMESTAMP_LTZ')
            WHEN CURRENT_TIMEZONE() NOT IN ('UTC', 'Etc/UTC', 'GMT')
                THEN RAISE_ERROR('[SCDGEN_TIME_ZONE] retail.orders: run SET TIME ZONE \'UTC\' first')
            WHEN order_id IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] retail.orders: order_id is NULL')
            WHEN YEAR(ordered_at) < 1 OR YEAR(ordered_at) > 9999
                THEN RAISE_ERROR('[SCDGEN_YEAR] retail.orders: a time is not in the years 1 to 9999')
            ELSE TRUE
        END
    ),
    ranked AS (
        -- The rows of each key.
        -- A window must have an order; any will do.
        SELECT
            *,
            STRUCT(customer_id, ordered_at, amount)
                <=> FIRST_VALUE(STRUCT(customer_id, ordered_at, amount)) OVER by_key
                AS _scd_agrees,
            ROW_NUMBER() OVER by_key AS _scd_row
        FROM changes
        WINDOW by_key AS (PARTITION BY order_id ORDER BY order_id)
    ),
    latest AS (
        -- One row per key; two rows that contradict each other stop the statement.
        SELECT order_id, customer_id, ordered_at, amount
        FROM ranked
        WHERE CASE
            WHEN _scd_agrees THEN _scd_row = 1
            ELSE RAISE_ERROR(
                '[SCDGEN_CONFLICT] retail.orders: two different rows of one key: ' || TO_JSON(STRUCT(order_id))
            )
        END
    )
    SELECT * FROM latest
) AS s
    -- A key identifies a row.
    ON t.order_id = s.order_id
-- A row with other values.
WHEN MATCHED AND NOT (STRUCT(t.customer_id, t.ordered_at, t.amount) <=> STRUCT(s.customer_id, s.ordered_at, s.amount))
    THEN
    UPDATE SET customer_id = s.customer_id, ordered_at = s.ordered_at, amount = s.amount
-- A new key.
WHEN NOT MATCHED THEN
    INSERT (order_id, customer_id, ordered_at, amount)
    VALUES (s.order_id, s.customer_id, s.ordered_at, s.amount);
