ALTER TABLE r.t247 ADD COLUMNS (
    a STRING,
    b INT,
    c STRING
);

ALTER TABLE r.t247 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd1',
    'scdgen.keys' = '["id"]'
);
