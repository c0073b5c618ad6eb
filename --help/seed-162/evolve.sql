ALTER TABLE r.t162 ADD COLUMNS (
    a STRING,
    b INT,
    c STRING,
    bucket INT
);

ALTER TABLE r.t162 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id", "region"]',
    'scdgen.history' = 'timestamp, gap 1 microsecond, open_end 9999-12-31 23:59:59.999',
    'scdgen.tracked' = '["a", "b", "c"]'
);
