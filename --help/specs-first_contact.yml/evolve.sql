ALTER TABLE crm.first_contact ADD COLUMNS (
    channel STRING,
    campaign STRING,
    contacted_at TIMESTAMP
);

ALTER TABLE crm.first_contact SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd0',
    'scdgen.keys' = '["customer_id"]'
);
