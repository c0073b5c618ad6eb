ALTER TABLE r.t289 ADD COLUMNS (
    a STRING,
    b INT,
    c STRING
);

ALTER TABLE r.t289 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id", "region"]',
    'scdgen.history' = 'date',
    'scdgen.tracked' = '["b", "c"]'
);
