ALTER TABLE r.t179 ADD COLUMNS (
    a STRING,
    b INT,
    c STRING
);

ALTER TABLE r.t179 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd1',
    'scdgen.keys' = '["id"]'
);
