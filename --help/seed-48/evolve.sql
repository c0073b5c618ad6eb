ALTER TABLE r.t48 ADD COLUMNS (
    a STRING,
    b INT,
    c STRING
);

ALTER TABLE r.t48 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id"]',
    'scdgen.history' = 'bigint, gap 1',
    'scdgen.tracked' = '["a", "b", "c"]'
);
