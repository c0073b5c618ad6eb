ALTER TABLE r.t191 ADD COLUMNS (
    a STRING,
    b INT,
    c STRING
);

ALTER TABLE r.t191 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd1',
    'scdgen.keys' = '["id"]'
);
