ALTER TABLE r.t187 ADD COLUMNS (
    a STRING,
    b INT,
    c STRING
);

ALTER TABLE r.t187 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd1',
    'scdgen.keys' = '["id"]'
);
