-- Revenue by segment as it was when they ordered and as it is now, from the views in lookups.sql of retail.dim_customer.

CREATE OR REPLACE TEMPORARY VIEW orders_both_ways AS
SELECT
    was.order_id,
    was.customer_id,
    was.amount,
    COALESCE(was.segment, 'Not listed yet') AS ordered_as, -- an inferred member
    COALESCE(now.segment, 'Not listed yet') AS is_now
FROM retail.orders_as_was AS was
INNER JOIN retail.orders_as_is AS now ON was.order_id = now.order_id;

-- Revenue by segment
SELECT
    segment,
    SUM(IF(way = 'was', amount, 0)) AS as_was,
    SUM(IF(way = 'is', amount, 0)) AS as_is,
    SUM(IF(way = 'is', amount, -amount)) AS difference
FROM orders_both_ways
LATERAL VIEW STACK(2, 'was', ordered_as, 'is', is_now) AS way, segment
GROUP BY segment
ORDER BY segment;

-- Why they differ: orders of customers who have changed the segment since, or have left
SELECT
    ordered_as,
    is_now,
    COUNT(DISTINCT customer_id) AS customers,
    COUNT(*) AS orders,
    SUM(amount) AS revenue
FROM orders_both_ways
WHERE ordered_as <> is_now
GROUP BY ordered_as, is_now
ORDER BY revenue DESC;

-- The customers who moved most revenue
SELECT
    o.customer_id,
    MAX(d.name) AS name,
    o.ordered_as,
    o.is_now,
    COUNT(*) AS orders,
    SUM(o.amount) AS revenue
FROM orders_both_ways AS o
INNER JOIN retail.dim_customer AS d ON o.customer_id = d.customer_id AND d.is_current
WHERE o.ordered_as <> o.is_now
GROUP BY o.customer_id, o.ordered_as, o.is_now
ORDER BY revenue DESC, o.customer_id
LIMIT 5;
