ALTER TABLE crm.customer_address ADD COLUMNS (
    name STRING,
    address STRING
);

ALTER TABLE crm.customer_address SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id"]',
    'scdgen.history' = 'date',
    'scdgen.tracked' = '["address"]'
);
