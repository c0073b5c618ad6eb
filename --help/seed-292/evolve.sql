ALTER TABLE r.t292 ADD COLUMNS (
    a STRING,
    b INT,
    c STRING
);

ALTER TABLE r.t292 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id", "region"]',
    'scdgen.history' = 'timestamp, gap 1 millisecond',
    'scdgen.tracked' = '["a", "b", "c"]'
);
