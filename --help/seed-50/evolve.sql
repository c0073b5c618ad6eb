ALTER TABLE r.t50 ADD COLUMNS (
    a STRING,
    b INT,
    c STRING
);

ALTER TABLE r.t50 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id"]',
    'scdgen.history' = 'date, gap 1 day, open_end last_run',
    'scdgen.tracked' = '["a", "b", "c"]'
);
