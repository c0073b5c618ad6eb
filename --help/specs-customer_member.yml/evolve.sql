ALTER TABLE crm.customer_member ADD COLUMNS (
    segment STRING
);

ALTER TABLE crm.customer_member SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id"]',
    'scdgen.history' = 'timestamp',
    'scdgen.tracked' = '["segment"]'
);
