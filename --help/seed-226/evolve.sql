ALTER TABLE r.t226 ADD COLUMNS (
    a STRING,
    b INT,
    c STRING
);

ALTER TABLE r.t226 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id", "region"]',
    'scdgen.history' = 'date, open_end 9999-12-31',
    'scdgen.tracked' = '["a", "b", "c"]'
);
