ALTER TABLE r.t20 ADD COLUMNS (
    a STRING,
    b INT,
    c STRING
);

ALTER TABLE r.t20 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id"]',
    'scdgen.history' = 'bigint, gap 10',
    'scdgen.tracked' = '["a", "c"]'
);
