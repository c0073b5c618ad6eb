ALTER TABLE r.t71 ADD COLUMNS (
    a STRING,
    b INT,
    c STRING
);

ALTER TABLE r.t71 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd1',
    'scdgen.keys' = '["id"]'
);
