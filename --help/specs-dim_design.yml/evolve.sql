ALTER TABLE dwh.dim_customer ADD COLUMNS (
    name STRING,
    address STRING,
    birth_date DATE
);

ALTER TABLE dwh.dim_customer SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["region", "customer_no"]',
    'scdgen.history' = 'date, gap 1 day, open_end 9999-12-31',
    'scdgen.tracked' = '["address", "birth_date"]'
);
