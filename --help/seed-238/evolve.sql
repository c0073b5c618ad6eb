ALTER TABLE r.t238 ADD COLUMNS (
    a STRING,
    b INT,
    c STRING
);

ALTER TABLE r.t238 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id", "region"]',
    'scdgen.history' = 'date, open_end last_run',
    'scdgen.tracked' = '["a", "b"]'
);
