-- retail.orders: The facts, one row per order; guests order without a customer
-- Integrity checks: each query returns the rows that break its rule; an empty result means that it holds.
-- Generated from specs/sales/orders.yml. To change it, edit the spec and run `scdgen generate`.

-- unique_key: one row per key.
SELECT
    t.order_id,
    COUNT(*) AS row_count
FROM retail.orders AS t
GROUP BY t.order_id
HAVING COUNT(*) > 1;

-- key_not_null: no key is NULL.
SELECT *
FROM retail.orders AS t
WHERE t.order_id IS NULL;
