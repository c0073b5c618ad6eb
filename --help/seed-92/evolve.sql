ALTER TABLE r.t92 ADD COLUMNS (
    a STRING,
    b INT,
    c STRING
);

ALTER TABLE r.t92 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id"]',
    'scdgen.history' = 'date, gap 1 day, open_end 9999-12-31',
    'scdgen.tracked' = '["a", "b", "c"]'
);
