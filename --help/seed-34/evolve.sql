ALTER TABLE r.t34 ADD COLUMNS (
    a STRING,
    b INT,
    c STRING
);

ALTER TABLE r.t34 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id"]',
    'scdgen.history' = 'bigint, gap 1, open_end 9999999999',
    'scdgen.tracked' = '["a", "b", "c"]'
);
