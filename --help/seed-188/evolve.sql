ALTER TABLE r.t188 ADD COLUMNS (
    a STRING,
    b INT,
    c STRING,
    bucket INT
);

ALTER TABLE r.t188 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id", "region"]',
    'scdgen.history' = 'bigint, open_end last_run',
    'scdgen.tracked' = '["a", "b", "c"]'
);
