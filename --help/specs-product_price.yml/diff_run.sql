SELECT
    _scd_change,
    _scd_old,
    _scd_new
FROM (
    SELECT
        COALESCE(o.product_id, n.product_id) AS product_id,
        CASE
            WHEN o._scd_row IS NULL THEN 'new'
            WHEN n._scd_row IS NULL THEN 'deleted'
            WHEN NOT (o._scd_state <=> n._scd_state) THEN 'changed'
        END AS _scd_change,
        o._scd_row AS _scd_old,
        n._scd_row AS _scd_new
    FROM (
        SELECT
            t.product_id,
            STRUCT(t.product_id, t.name, CAST(NULL AS DECIMAL(10, 2)) AS price, t.updated_at) AS _scd_state,
            STRUCT(t.product_id, t.name, CAST(NULL AS DECIMAL(10, 2)) AS price, t.updated_at) AS _scd_row
        FROM shop.product_price VERSION AS OF 3 AS t
        WHERE t.product_id = CAST('1' AS BIGINT)
    ) AS o
    FULL OUTER JOIN (
        SELECT
            t.product_id,
            STRUCT(t.product_id, t.name, t.price, t.updated_at) AS _scd_state,
            STRUCT(t.product_id, t.name, t.price, t.updated_at) AS _scd_row
        FROM shop.product_price VERSION AS OF 4 AS t
        WHERE t.product_id = CAST('1' AS BIGINT)
    ) AS n
        ON o.product_id <=> n.product_id
)
WHERE _scd_change IS NOT NULL
ORDER BY product_id