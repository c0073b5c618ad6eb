ALTER TABLE crm.`odd ``name` ADD COLUMNS (
    name CHAR(3) COMMENT 'As it is written',
    city STRING,
    bucket INT
);

ALTER TABLE crm.`odd ``name` SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd1',
    'scdgen.keys' = '["id", "region"]'
);
