ALTER TABLE r.t35 ADD COLUMNS (
    a STRING,
    b INT,
    c STRING
);

ALTER TABLE r.t35 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd1',
    'scdgen.keys' = '["id"]'
);
