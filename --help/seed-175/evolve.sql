ALTER TABLE r.t175 ADD COLUMNS (
    a STRING,
    b INT,
    c STRING
);

ALTER TABLE r.t175 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd1',
    'scdgen.keys' = '["id"]'
);
