ALTER TABLE crm.`odd ``name` ADD COLUMNS (
    region STRING,
    name STRING,
    city STRING,
    bucket INT
);

ALTER TABLE crm.`odd ``name` SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd1',
    'scdgen.keys' = '["id"]'
);
