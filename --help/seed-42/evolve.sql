ALTER TABLE r.t42 ADD COLUMNS (
    a STRING,
    b INT,
    c STRING
);

ALTER TABLE r.t42 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id", "region"]',
    'scdgen.history' = 'bigint',
    'scdgen.tracked' = '["c"]'
);
