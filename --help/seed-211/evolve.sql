ALTER TABLE r.t211 ADD COLUMNS (
    a STRING,
    b INT,
    c STRING
);

ALTER TABLE r.t211 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd1',
    'scdgen.keys' = '["id"]'
);
