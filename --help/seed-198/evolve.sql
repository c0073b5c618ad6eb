ALTER TABLE r.t198 ADD COLUMNS (
    a STRING,
    b INT,
    c STRING
);

ALTER TABLE r.t198 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id", "region"]',
    'scdgen.history' = 'timestamp, gap 1 day',
    'scdgen.tracked' = '["a"]'
);
