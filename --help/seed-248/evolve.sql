ALTER TABLE r.t248 ADD COLUMNS (
    a STRING COMMENT 'the first; \'quoted\'',
    b INT,
    c STRING
);

ALTER TABLE r.t248 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id"]',
    'scdgen.history' = 'date, gap 1 day, open_end 9999-12-31',
    'scdgen.tracked' = '["a", "b", "c"]'
);
