ALTER TABLE r.t132 ADD COLUMNS (
    a STRING,
    b INT,
    c STRING
);

ALTER TABLE r.t132 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id"]',
    'scdgen.history' = 'date, open_end last_run',
    'scdgen.tracked' = '["a", "b", "c"]'
);
