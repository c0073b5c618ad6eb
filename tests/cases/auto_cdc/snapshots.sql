CREATE OR REFRESH STREAMING TABLE sales.prices (item STRING, price DECIMAL(10, 2), listed BOOLEAN);

CREATE FLOW prices_daily AS AUTO CDC INTO sales.prices
FROM SNAPSHOT (
  SELECT * FROM sales.price_lists WHERE day = (SELECT day FROM current_snapshot_version())
)
WITH VERSION (
  SELECT min(day) AS day FROM sales.price_lists
  WHERE day > (SELECT coalesce(max(day), DATE '1900-01-01') FROM last_snapshot_version())
)
KEYS (item)
STORED AS SCD TYPE 2
TRACK HISTORY ON (price);
