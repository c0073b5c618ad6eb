ALTER TABLE r.t84 ADD COLUMNS (
    a STRING,
    b INT,
    c STRING
);

ALTER TABLE r.t84 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id", "region"]',
    'scdgen.history' = 'bigint, gap 1',
    'scdgen.tracked' = '["a", "b"]'
);
