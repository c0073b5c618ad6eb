ALTER TABLE r.t19 ADD COLUMNS (
    a STRING,
    b INT,
    c STRING
);

ALTER TABLE r.t19 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd1',
    'scdgen.keys' = '["id"]'
);
