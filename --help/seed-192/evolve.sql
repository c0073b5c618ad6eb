ALTER TABLE r.t192 ADD COLUMNS (
    a STRING COMMENT 'the first; \'quoted\'',
    b INT,
    c STRING
);

ALTER TABLE r.t192 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id", "region"]',
    'scdgen.history' = 'date, gap 1 day',
    'scdgen.tracked' = '["a", "b"]'
);
