ALTER TABLE retail.customer_address ADD COLUMNS (
    street STRING,
    city STRING
);

ALTER TABLE retail.customer_address SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["customer_id"]',
    'scdgen.history' = 'timestamp',
    'scdgen.tracked' = '["street", "city"]'
);
