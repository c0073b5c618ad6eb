ALTER TABLE crm.customer ADD COLUMNS (
    name STRING,
    city STRING,
    bucket INT
);

ALTER TABLE crm.customer SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id", "region"]',
    'scdgen.history' = 'timestamp',
    'scdgen.tracked' = '["name", "city", "bucket"]'
);
