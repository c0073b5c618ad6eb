ALTER TABLE r.t166 ADD COLUMNS (
    a STRING,
    b INT,
    c STRING
);

ALTER TABLE r.t166 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id", "region"]',
    'scdgen.history' = 'timestamp, gap 1 day, open_end last_run',
    'scdgen.tracked' = '["b", "c"]'
);
