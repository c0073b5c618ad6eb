ALTER TABLE r.t159 ADD COLUMNS (
    a STRING,
    b INT,
    c STRING
);

ALTER TABLE r.t159 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd1',
    'scdgen.keys' = '["id"]'
);
