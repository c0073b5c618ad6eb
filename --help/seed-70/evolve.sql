ALTER TABLE r.t70 ADD COLUMNS (
    a STRING COMMENT 'the first; \'quoted\'',
    b INT,
    c STRING
);

ALTER TABLE r.t70 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id", "region"]',
    'scdgen.history' = 'timestamp, gap 1 millisecond, open_end 9999-12-31 23:59:59.999',
    'scdgen.tracked' = '["a", "c"]'
);
