ALTER TABLE shop.product_price ADD COLUMNS (
    name STRING,
    price DECIMAL(10, 2)
);

ALTER TABLE shop.product_price SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd1',
    'scdgen.keys' = '["product_id"]'
);
