ALTER TABLE r.t29 ADD COLUMNS (
    a STRING,
    b INT,
    c STRING
);

ALTER TABLE r.t29 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id", "region"]',
    'scdgen.history' = 'bigint, open_end last_run',
    'scdgen.tracked' = '["a", "b"]'
);
