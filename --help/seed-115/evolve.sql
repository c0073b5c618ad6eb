ALTER TABLE r.t115 ADD COLUMNS (
    a STRING,
    b INT,
    c STRING
);

ALTER TABLE r.t115 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd1',
    'scdgen.keys' = '["id"]'
);
