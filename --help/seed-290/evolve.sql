ALTER TABLE r.t290 ADD COLUMNS (
    a STRING,
    b INT,
    c STRING
);

ALTER TABLE r.t290 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id", "region"]',
    'scdgen.history' = 'bigint, gap 1, open_end last_run',
    'scdgen.tracked' = '["b"]'
);
