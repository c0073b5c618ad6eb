ALTER TABLE crm.customer ADD COLUMNS (
    name STRING,
    address STRING
);

ALTER TABLE crm.customer SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id"]',
    'scdgen.history' = 'timestamp',
    'scdgen.tracked' = '["name", "address"]'
);
