ALTER TABLE r.t59 ADD COLUMNS (
    a STRING,
    b INT,
    c STRING
);

ALTER TABLE r.t59 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd1',
    'scdgen.keys' = '["id"]'
);
