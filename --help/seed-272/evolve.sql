ALTER TABLE r.t272 ADD COLUMNS (
    a STRING,
    b INT,
    c STRING
);

ALTER TABLE r.t272 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id", "region"]',
    'scdgen.history' = 'date, gap 1 day',
    'scdgen.tracked' = '["a", "b", "c"]'
);
