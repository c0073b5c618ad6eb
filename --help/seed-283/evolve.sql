ALTER TABLE r.t283 ADD COLUMNS (
    a STRING,
    b INT,
    c STRING
);

ALTER TABLE r.t283 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd1',
    'scdgen.keys' = '["id"]'
);
