ALTER TABLE crm.customer ADD COLUMNS (
    name CHAR(3) COMMENT 'As it is written',
    city STRING,
    bucket INT
);

ALTER TABLE crm.customer SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd1',
    'scdgen.keys' = '["id", "region"]'
);
