ALTER TABLE r.t172 ADD COLUMNS (
    a STRING COMMENT 'the first; \'quoted\'',
    b INT,
    c STRING,
    bucket INT
);

ALTER TABLE r.t172 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id"]',
    'scdgen.history' = 'date',
    'scdgen.tracked' = '["a", "b", "c"]'
);
