ALTER TABLE crm.customer ADD COLUMNS (
    name INT,
    city STRING,
    bucket INT
);

ALTER TABLE crm.customer SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd1',
    'scdgen.keys' = '["id", "region"]'
);
