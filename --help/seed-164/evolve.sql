ALTER TABLE r.t164 ADD COLUMNS (
    a STRING COMMENT 'the first; \'quoted\'',
    b INT,
    c STRING,
    bucket INT
);

ALTER TABLE r.t164 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id", "region"]',
    'scdgen.history' = 'timestamp, gap 1 millisecond, open_end last_run',
    'scdgen.tracked' = '["a", "c"]'
);
