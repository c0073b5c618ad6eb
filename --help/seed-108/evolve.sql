ALTER TABLE r.t108 ADD COLUMNS (
    a STRING,
    b INT,
    c STRING,
    bucket INT
);

ALTER TABLE r.t108 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id"]',
    'scdgen.history' = 'timestamp, open_end 9999-12-31 23:59:59.999',
    'scdgen.tracked' = '["a", "b"]'
);
