ALTER TABLE r.t153 ADD COLUMNS (
    a STRING,
    b INT,
    c STRING
);

ALTER TABLE r.t153 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id"]',
    'scdgen.history' = 'date',
    'scdgen.tracked' = '["a", "b", "c"]'
);
