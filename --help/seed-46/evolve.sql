ALTER TABLE r.t46 ADD COLUMNS (
    a STRING,
    b INT,
    c STRING
);

ALTER TABLE r.t46 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id"]',
    'scdgen.history' = 'timestamp, gap 1 day',
    'scdgen.tracked' = '["b", "c"]'
);
