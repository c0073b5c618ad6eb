ALTER TABLE retail.dim_customer ADD COLUMNS (
    name STRING,
    segment STRING,
    street STRING,
    city STRING
);

ALTER TABLE retail.dim_customer SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["customer_id"]',
    'scdgen.history' = 'timestamp',
    'scdgen.tracked' = '["name", "segment", "street", "city"]'
);
