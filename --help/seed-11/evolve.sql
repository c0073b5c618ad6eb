ALTER TABLE r.t11 ADD COLUMNS (
    a STRING,
    b INT,
    c STRING
);

ALTER TABLE r.t11 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd1',
    'scdgen.keys' = '["id"]'
);
