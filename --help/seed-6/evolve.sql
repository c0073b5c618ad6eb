ALTER TABLE r.t6 ADD COLUMNS (
    a STRING,
    b INT,
    c STRING,
    bucket INT
);

ALTER TABLE r.t6 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id", "region"]',
    'scdgen.history' = 'bigint, open_end last_run',
    'scdgen.tracked' = '["b", "c"]'
);
