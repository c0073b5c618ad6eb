ALTER TABLE r.t215 ADD COLUMNS (
    a STRING,
    b INT,
    c STRING
);

ALTER TABLE r.t215 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd1',
    'scdgen.keys' = '["id"]'
);
