ALTER TABLE r.t126 ADD COLUMNS (
    a STRING,
    b INT,
    c STRING,
    bucket INT
);

ALTER TABLE r.t126 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id", "region"]',
    'scdgen.history' = 'bigint, open_end 9999999999',
    'scdgen.tracked' = '["b"]'
);
