ALTER TABLE r.t44 ADD COLUMNS (
    a STRING COMMENT 'the first; \'quoted\'',
    b INT,
    c STRING,
    bucket INT
);

ALTER TABLE r.t44 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id", "region"]',
    'scdgen.history' = 'date',
    'scdgen.tracked' = '["a"]'
);
