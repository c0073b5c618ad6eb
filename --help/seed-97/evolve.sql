ALTER TABLE r.t97 ADD COLUMNS (
    a STRING,
    b INT,
    c STRING
);

ALTER TABLE r.t97 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id"]',
    'scdgen.history' = 'timestamp, gap 1 day, open_end last_run',
    'scdgen.tracked' = '["a", "c"]'
);
