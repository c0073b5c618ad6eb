ALTER TABLE r.t291 ADD COLUMNS (
    a STRING,
    b INT,
    c STRING
);

ALTER TABLE r.t291 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd1',
    'scdgen.keys' = '["id"]'
);
