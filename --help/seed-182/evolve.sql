ALTER TABLE r.t182 ADD COLUMNS (
    a STRING,
    b INT,
    c STRING
);

ALTER TABLE r.t182 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id"]',
    'scdgen.history' = 'date, gap 1 day',
    'scdgen.tracked' = '["a", "c"]'
);
