ALTER TABLE retail.customer ADD COLUMNS (
    name STRING,
    segment STRING
);

ALTER TABLE retail.customer SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["customer_id"]',
    'scdgen.history' = 'timestamp',
    'scdgen.tracked' = '["name", "segment"]'
);
