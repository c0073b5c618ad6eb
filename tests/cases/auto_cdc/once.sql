CREATE OR REFRESH STREAMING TABLE sales.orders;

CREATE FLOW orders_seed AS AUTO CDC ONCE INTO sales.orders
FROM stream(sales.orders_extract)
KEYS (order_id)
SEQUENCE BY updated_at
COLUMNS * EXCEPT (updated_at);

CREATE FLOW orders_changes AS AUTO CDC INTO sales.orders
FROM stream(sales.orders_cdc)
KEYS (order_id)
APPLY AS DELETE WHEN op = 'D'
SEQUENCE BY changed_at
COLUMNS * EXCEPT (op, changed_at);
