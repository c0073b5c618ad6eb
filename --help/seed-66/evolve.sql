ALTER TABLE r.t66 ADD COLUMNS (
    a STRING,
    b INT,
    c STRING
);

ALTER TABLE r.t66 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id"]',
    'scdgen.history' = 'timestamp, gap 1 millisecond, open_end last_run',
    'scdgen.tracked' = '["b", "c"]'
);
