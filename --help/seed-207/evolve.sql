ALTER TABLE r.t207 ADD COLUMNS (
    a STRING,
    b INT,
    c STRING
);

ALTER TABLE r.t207 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd1',
    'scdgen.keys' = '["id"]'
);
