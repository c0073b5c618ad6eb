ALTER TABLE r.t123 ADD COLUMNS (
    a STRING,
    b INT,
    c STRING
);

ALTER TABLE r.t123 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd1',
    'scdgen.keys' = '["id"]'
);
