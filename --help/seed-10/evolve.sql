ALTER TABLE r.t10 ADD COLUMNS (
    a STRING,
    b INT,
    c STRING
);

ALTER TABLE r.t10 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id"]',
    'scdgen.history' = 'bigint, open_end last_run',
    'scdgen.tracked' = '["b", "c"]'
);
