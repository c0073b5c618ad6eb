ALTER TABLE r.t16 ADD COLUMNS (
    a STRING,
    b INT,
    c STRING,
    bucket INT
);

ALTER TABLE r.t16 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id", "region"]',
    'scdgen.history' = 'date, gap 1 day, open_end last_run',
    'scdgen.tracked' = '["a", "b", "c"]'
);
