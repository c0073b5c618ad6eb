ALTER TABLE r.t130 ADD COLUMNS (
    a STRING,
    b INT,
    c STRING
);

ALTER TABLE r.t130 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id"]',
    'scdgen.history' = 'bigint, gap 1, open_end last_run',
    'scdgen.tracked' = '["c"]'
);
