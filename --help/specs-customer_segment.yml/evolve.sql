ALTER TABLE crm.customer_segment ADD COLUMNS (
    name STRING,
    segment STRING
);

ALTER TABLE crm.customer_segment SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id"]',
    'scdgen.history' = 'timestamp',
    'scdgen.tracked' = '["segment"]'
);
