ALTER TABLE r.t94 ADD COLUMNS (
    a STRING,
    b INT,
    c STRING
);

ALTER TABLE r.t94 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id", "region"]',
    'scdgen.history' = 'bigint',
    'scdgen.tracked' = '["a", "b", "c"]'
);
