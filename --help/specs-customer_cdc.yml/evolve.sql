ALTER TABLE crm.customer_cdc ADD COLUMNS (
    name STRING,
    city STRING
);

ALTER TABLE crm.customer_cdc SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["company", "customer_no"]',
    'scdgen.history' = 'timestamp',
    'scdgen.tracked' = '["name", "city"]'
);
