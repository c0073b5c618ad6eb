ALTER TABLE r.t231 ADD COLUMNS (
    a STRING,
    b INT,
    c STRING
);

ALTER TABLE r.t231 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd1',
    'scdgen.keys' = '["id"]'
);
