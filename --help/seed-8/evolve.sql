ALTER TABLE r.t8 ADD COLUMNS (
    a STRING,
    b INT,
    c STRING
);

ALTER TABLE r.t8 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id", "region"]',
    'scdgen.history' = 'timestamp, gap 1 millisecond, open_end last_run',
    'scdgen.tracked' = '["c"]'
);
