ALTER TABLE r.t82 ADD COLUMNS (
    a STRING,
    b INT,
    c STRING,
    bucket INT
);

ALTER TABLE r.t82 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id"]',
    'scdgen.history' = 'timestamp, gap 1 day, open_end 9999-12-31 23:59:59.999',
    'scdgen.tracked' = '["a", "b", "c"]'
);
