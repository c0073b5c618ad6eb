ALTER TABLE r.t95 ADD COLUMNS (
    a STRING,
    b INT,
    c STRING
);

ALTER TABLE r.t95 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd1',
    'scdgen.keys' = '["id"]'
);
