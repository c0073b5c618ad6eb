ALTER TABLE r.t228 ADD COLUMNS (
    a STRING,
    b INT,
    c STRING,
    bucket INT
);

ALTER TABLE r.t228 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id", "region"]',
    'scdgen.history' = 'bigint, gap 10',
    'scdgen.tracked' = '["a", "b", "c"]'
);
