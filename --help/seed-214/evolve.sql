ALTER TABLE r.t214 ADD COLUMNS (
    a STRING,
    b INT,
    c STRING
);

ALTER TABLE r.t214 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id", "region"]',
    'scdgen.history' = 'bigint, gap 10, open_end last_run',
    'scdgen.tracked' = '["a", "b"]'
);
