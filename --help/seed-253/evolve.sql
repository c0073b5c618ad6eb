ALTER TABLE r.t253 ADD COLUMNS (
    a STRING,
    b INT,
    c STRING
);

ALTER TABLE r.t253 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id"]',
    'scdgen.history' = 'bigint, gap 10, open_end last_run',
    'scdgen.tracked' = '["a", "b"]'
);
