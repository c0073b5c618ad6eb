ALTER TABLE crm.customer ADD COLUMNS (
    region STRING,
    name STRING,
    city STRING,
    bucket INT
);

ALTER TABLE crm.customer SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id"]',
    'scdgen.history' = 'timestamp',
    'scdgen.tracked' = '["region", "name", "city", "bucket"]'
);
