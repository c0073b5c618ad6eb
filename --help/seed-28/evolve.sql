ALTER TABLE r.t28 ADD COLUMNS (
    a STRING,
    b INT,
    c STRING
);

ALTER TABLE r.t28 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id", "region"]',
    'scdgen.history' = 'timestamp, gap 1 microsecond, open_end 9999-12-31 23:59:59.999',
    'scdgen.tracked' = '["a", "b"]'
);
