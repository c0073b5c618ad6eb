ALTER TABLE r.t51 ADD COLUMNS (
    a STRING,
    b INT,
    c STRING
);

ALTER TABLE r.t51 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd1',
    'scdgen.keys' = '["id"]'
);
