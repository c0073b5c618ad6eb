ALTER TABLE r.t275 ADD COLUMNS (
    a STRING,
    b INT,
    c STRING
);

ALTER TABLE r.t275 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd1',
    'scdgen.keys' = '["id"]'
);
