ALTER TABLE crm.customer_full ADD COLUMNS (
    name STRING
);

ALTER TABLE crm.customer_full SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["customer_no"]',
    'scdgen.history' = 'timestamp, gap 1 millisecond, open_end 9999-12-31 23:59:59.999',
    'scdgen.tracked' = '["name"]'
);
