ALTER TABLE r.t274 ADD COLUMNS (
    a STRING COMMENT 'the first; \'quoted\'',
    b INT,
    c STRING
);

ALTER TABLE r.t274 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id", "region"]',
    'scdgen.history' = 'timestamp, gap 1 day, open_end last_run',
    'scdgen.tracked' = '["b"]'
);
