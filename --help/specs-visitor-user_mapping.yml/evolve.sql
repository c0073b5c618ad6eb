ALTER TABLE web.user_mapping ADD COLUMNS (
    user_id BIGINT,
    vcid_first_two STRING
);

ALTER TABLE web.user_mapping SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["visitor_cookie_id"]',
    'scdgen.history' = 'timestamp, gap 1 microsecond',
    'scdgen.tracked' = '["user_id", "vcid_first_two"]'
);
