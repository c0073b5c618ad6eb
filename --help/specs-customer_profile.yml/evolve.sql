ALTER TABLE crm.customer_profile ADD COLUMNS (
    name STRING,
    address STRING,
    segment STRING
);

ALTER TABLE crm.customer_profile SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id"]',
    'scdgen.history' = 'timestamp',
    'scdgen.tracked' = '["name", "address", "segment"]'
);
