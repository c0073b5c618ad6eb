ALTER TABLE r.t139 ADD COLUMNS (
    a STRING,
    b INT,
    c STRING
);

ALTER TABLE r.t139 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd1',
    'scdgen.keys' = '["id"]'
);
