ALTER TABLE web.first_dates ADD COLUMNS (
    first_date TIMESTAMP,
    first_day STRING,
    vcid_first_two STRING
);

ALTER TABLE web.first_dates SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd1',
    'scdgen.keys' = '["visitor_cookie_id"]'
);
