ALTER TABLE r.t176 ADD COLUMNS (
    a STRING,
    b INT,
    c STRING
);

ALTER TABLE r.t176 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id"]',
    'scdgen.history' = 'timestamp',
    'scdgen.tracked' = '["a", "b", "c"]'
);
