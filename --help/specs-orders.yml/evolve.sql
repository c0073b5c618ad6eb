ALTER TABLE shop.orders ADD COLUMNS (
    status STRING,
    note STRING
);

ALTER TABLE shop.orders SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["order_id"]',
    'scdgen.history' = 'timestamp',
    'scdgen.tracked' = '["status"]'
);
