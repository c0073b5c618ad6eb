ALTER TABLE r.t280 ADD COLUMNS (
    a STRING COMMENT 'the first; \'quoted\'',
    b INT,
    c STRING
);

ALTER TABLE r.t280 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id"]',
    'scdgen.history' = 'date, gap 1 day, open_end 9999-12-31',
    'scdgen.tracked' = '["b", "c"]'
);
