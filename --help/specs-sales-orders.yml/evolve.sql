ALTER TABLE retail.orders ADD COLUMNS (
    customer_id INT,
    ordered_at TIMESTAMP,
    amount DECIMAL(10, 2)
);

ALTER TABLE retail.orders SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd1',
    'scdgen.keys' = '["order_id"]'
);
