-- Revenue by segment: that of the customer when the order was placed (as-was), and that of the customer now (as-is).
-- Reads the views of generated/retail.dim_customer/lookups.sql.

CREATE OR REPLACE TEMPORARY VIEW orders_both_ways AS
SELECT
    was.order_id,
    was.customer_id,
    was.amount,
    COALESCE(was.segment, 'Not listed yet') AS segment_then, -- an inferred member has no segment
    COALESCE(now.segment, 'Not listed yet') AS segment_now
FROM retail.orders_as_was AS was
INNER JOIN retail.orders_as_is AS now ON was.order_id = now.order_id;

-- Revenue by segment
-- Not listed yet: customers that only orders name. Unknown: guests; as-is, also customers who have left.
SELECT
    IF(GROUPING(name) = 1, 'Total', name) AS segment,
    SUM(IF(way = 'was', amount, 0)) AS as_was,
    SUM(IF(way = 'is', amount, 0)) AS as_is,
    SUM(IF(way = 'is', amount, -amount)) AS difference
FROM orders_both_ways
LATERAL VIEW STACK(2, 'was', segment_then, 'is', segment_now) AS way, name
GROUP BY ROLLUP (name)
ORDER BY GROUPING(name), name;

-- Why they differ: customers changed their segment after they ordered, or left
-- The revenue of these orders is in one segment as-was, and in another as-is.
SELECT
    segment_then,
    segment_now,
    COUNT(DISTINCT customer_id) AS customers,
    COUNT(*) AS orders,
    SUM(amount) AS revenue
FROM orders_both_ways
WHERE segment_then <> segment_now
GROUP BY segment_then, segment_now
ORDER BY revenue DESC;

-- The five customers with most of this revenue
SELECT
    customer_id,
    segment_then,
    segment_now,
    COUNT(*) AS orders,
    SUM(amount) AS revenue
FROM orders_both_ways
WHERE segment_then <> segment_now
GROUP BY customer_id, segment_then, segment_now
ORDER BY revenue DESC, customer_id
LIMIT 5;
