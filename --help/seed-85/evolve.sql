ALTER TABLE r.t85 ADD COLUMNS (
    a STRING,
    b INT,
    c STRING
);

ALTER TABLE r.t85 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id", "region"]',
    'scdgen.history' = 'timestamp, open_end last_run',
    'scdgen.tracked' = '["a", "b", "c"]'
);
