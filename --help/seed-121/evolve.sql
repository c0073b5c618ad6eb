ALTER TABLE r.t121 ADD COLUMNS (
    a STRING COMMENT 'the first; \'quoted\'',
    b INT,
    c STRING
);

ALTER TABLE r.t121 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id"]',
    'scdgen.history' = 'timestamp, gap 1 microsecond, open_end 9999-12-31 23:59:59.999',
    'scdgen.tracked' = '["b"]'
);
