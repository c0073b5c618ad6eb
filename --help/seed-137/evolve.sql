ALTER TABLE r.t137 ADD COLUMNS (
    a STRING COMMENT 'the first; \'quoted\'',
    b INT,
    c STRING
);

ALTER TABLE r.t137 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id"]',
    'scdgen.history' = 'timestamp, gap 1 microsecond, open_end last_run',
    'scdgen.tracked' = '["b", "c"]'
);
