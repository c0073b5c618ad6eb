ALTER TABLE r.t242 ADD COLUMNS (
    a STRING,
    b INT,
    c STRING
);

ALTER TABLE r.t242 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id"]',
    'scdgen.history' = 'date, open_end last_run',
    'scdgen.tracked' = '["a"]'
);
