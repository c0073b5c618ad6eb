-- The form for a SQL warehouse: the flow is part of the table.
CREATE OR REFRESH STREAMING TABLE main.crm.customers (
  id INT NOT NULL COMMENT 'the key, as billed',
  name STRING,
  email STRING,
  amount DECIMAL(10, 2),
  __START_AT TIMESTAMP,
  __END_AT TIMESTAMP,
  CONSTRAINT has_name EXPECT (name IS NOT NULL) ON VIOLATION DROP ROW,
  CONSTRAINT is_paid EXPECT (amount > 0)
)
CLUSTER BY (id)
COMMENT 'All customers'
TBLPROPERTIES (pipelines.channel = 'PREVIEW', 'delta.enableChangeDataFeed' = 'true')
SCHEDULE EVERY 1 HOUR
FLOW AUTO CDC
FROM stream(main.crm.customers_cdc)
KEYS (id)
APPLY AS DELETE WHEN op = 'DELETE'
SEQUENCE BY changed_at
COLUMNS * EXCEPT (op, changed_at)
STORED AS SCD TYPE 2
TRACK HISTORY ON * EXCEPT (email);
