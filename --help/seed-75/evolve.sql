ALTER TABLE r.t75 ADD COLUMNS (
    a STRING,
    b INT,
    c STRING
);

ALTER TABLE r.t75 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd1',
    'scdgen.keys' = '["id"]'
);
