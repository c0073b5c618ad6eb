ALTER TABLE r.t91 ADD COLUMNS (
    a STRING,
    b INT,
    c STRING
);

ALTER TABLE r.t91 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd1',
    'scdgen.keys' = '["id"]'
);
