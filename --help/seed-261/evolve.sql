ALTER TABLE r.t261 ADD COLUMNS (
    a STRING,
    b INT,
    c STRING
);

ALTER TABLE r.t261 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id"]',
    'scdgen.history' = 'date',
    'scdgen.tracked' = '["a"]'
);
