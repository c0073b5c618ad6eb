ALTER TABLE r.t241 ADD COLUMNS (
    a STRING COMMENT 'the first; \'quoted\'',
    b INT,
    c STRING,
    bucket INT
);

ALTER TABLE r.t241 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id"]',
    'scdgen.history' = 'bigint, gap 10',
    'scdgen.tracked' = '["a", "c"]'
);
