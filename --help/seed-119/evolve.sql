ALTER TABLE r.t119 ADD COLUMNS (
    a STRING,
    b INT,
    c STRING
);

ALTER TABLE r.t119 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd1',
    'scdgen.keys' = '["id"]'
);
