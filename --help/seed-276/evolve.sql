ALTER TABLE r.t276 ADD COLUMNS (
    a STRING,
    b INT,
    c STRING
);

ALTER TABLE r.t276 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id", "region"]',
    'scdgen.history' = 'date',
    'scdgen.tracked' = '["b", "c"]'
);
