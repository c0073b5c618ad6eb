ALTER TABLE r.t134 ADD COLUMNS (
    a STRING,
    b INT,
    c STRING
);

ALTER TABLE r.t134 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id", "region"]',
    'scdgen.history' = 'date, open_end 9999-12-31',
    'scdgen.tracked' = '["a", "c"]'
);
