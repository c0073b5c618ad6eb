ALTER TABLE crm.`odd ``name` ADD COLUMNS (
    region STRING,
    name INT COMMENT 'As it is written',
    city STRING,
    bucket INT
);

ALTER TABLE crm.`odd ``name` SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd1',
    'scdgen.keys' = '["id"]'
);
