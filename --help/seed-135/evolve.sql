ALTER TABLE r.t135 ADD COLUMNS (
    a STRING,
    b INT,
    c STRING
);

ALTER TABLE r.t135 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd1',
    'scdgen.keys' = '["id"]'
);
