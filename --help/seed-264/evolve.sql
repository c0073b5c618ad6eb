ALTER TABLE r.t264 ADD COLUMNS (
    a STRING COMMENT 'the first; \'quoted\'',
    b INT,
    c STRING
);

ALTER TABLE r.t264 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id"]',
    'scdgen.history' = 'bigint, gap 10, open_end last_run',
    'scdgen.tracked' = '["a", "b", "c"]'
);
