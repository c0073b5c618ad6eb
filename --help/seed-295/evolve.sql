ALTER TABLE r.t295 ADD COLUMNS (
    a STRING,
    b INT,
    c STRING
);

ALTER TABLE r.t295 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd1',
    'scdgen.keys' = '["id"]'
);
