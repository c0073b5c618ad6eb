ALTER TABLE web.visitor_lookup ADD COLUMNS (
    user_id BIGINT,
    start_day STRING,
    vcid_first_two STRING
);

ALTER TABLE web.visitor_lookup SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["visitor_cookie_id"]',
    'scdgen.history' = 'timestamp, gap 1 microsecond, open_end last_run',
    'scdgen.tracked' = '["user_id", "vcid_first_two"]'
);
