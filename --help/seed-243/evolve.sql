ALTER TABLE r.t243 ADD COLUMNS (
    a STRING,
    b INT,
    c STRING
);

ALTER TABLE r.t243 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd1',
    'scdgen.keys' = '["id"]'
);
