ALTER TABLE crm.customer ADD COLUMNS (
    region STRING,
    name CHAR(3),
    city STRING,
    bucket INT
);

ALTER TABLE crm.customer SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id"]',
    'scdgen.history' = 'timestamp, gap 1 day',
    'scdgen.tracked' = '["region", "name", "city", "bucket"]'
);
