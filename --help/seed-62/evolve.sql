ALTER TABLE r.t62 ADD COLUMNS (
    a STRING,
    b INT,
    c STRING
);

ALTER TABLE r.t62 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id"]',
    'scdgen.history' = 'bigint',
    'scdgen.tracked' = '["a", "b"]'
);
