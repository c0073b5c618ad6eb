SELECT
    _scd_change,
    _scd_old,
    _scd_new
FROM (
    SELECT
        COALESCE(o.order_id, n.order_id) AS order_id,
        CASE
            WHEN o._scd_row IS NULL THEN 'new'
            WHEN n._scd_row IS NULL THEN 'deleted'
            WHEN NOT (o._scd_state <=> n._scd_state) THEN 'changed'
        END AS _scd_change,
        o._scd_row AS _scd_old,
        n._scd_row AS _scd_new
    FROM (
        SELECT
            t.order_id,
            STRUCT(t.order_id, t.customer_id, t.ordered_at, CAST(NULL AS DECIMAL(10, 2)) AS amount) AS _scd_state,
            STRUCT(t.order_id, t.customer_id, t.ordered_at, CAST(NULL AS DECIMAL(10, 2)) AS amount) AS _scd_row
        FROM retail.orders VERSION AS OF 3 AS t
        WHERE t.order_id = CAST('1' AS INT)
    ) AS o
    FULL OUTER JOIN (
        SELECT
            t.order_id,
            STRUCT(t.order_id, t.customer_id, t.ordered_at, t.amount) AS _scd_state,
            STRUCT(t.order_id, t.customer_id, t.ordered_at, t.amount) AS _scd_row
        FROM retail.orders VERSION AS OF 4 AS t
        WHERE t.order_id = CAST('1' AS INT)
    ) AS n
        ON o.order_id <=> n.order_id
)
WHERE _scd_change IS NOT NULL
ORDER BY order_id