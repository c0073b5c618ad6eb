ALTER TABLE r.t209 ADD COLUMNS (
    a STRING COMMENT 'the first; \'quoted\'',
    b INT,
    c STRING
);

ALTER TABLE r.t209 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id"]',
    'scdgen.history' = 'bigint, gap 10',
    'scdgen.tracked' = '["b"]'
);
