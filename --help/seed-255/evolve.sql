ALTER TABLE r.t255 ADD COLUMNS (
    a STRING,
    b INT,
    c STRING
);

ALTER TABLE r.t255 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd1',
    'scdgen.keys' = '["id"]'
);
