ALTER TABLE r.t185 ADD COLUMNS (
    a STRING,
    b INT,
    c STRING
);

ALTER TABLE r.t185 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id"]',
    'scdgen.history' = 'timestamp, gap 1 microsecond',
    'scdgen.tracked' = '["a", "b"]'
);
