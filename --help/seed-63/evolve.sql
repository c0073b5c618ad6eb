ALTER TABLE r.t63 ADD COLUMNS (
    a STRING,
    b INT,
    c STRING
);

ALTER TABLE r.t63 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd1',
    'scdgen.keys' = '["id"]'
);
