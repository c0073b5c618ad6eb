ALTER TABLE r.t124 ADD COLUMNS (
    a STRING,
    b INT,
    c STRING
);

ALTER TABLE r.t124 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id", "region"]',
    'scdgen.history' = 'date',
    'scdgen.tracked' = '["a"]'
);
