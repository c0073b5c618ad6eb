ALTER TABLE r.t33 ADD COLUMNS (
    a STRING,
    b INT,
    c STRING
);

ALTER TABLE r.t33 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id"]',
    'scdgen.history' = 'bigint, open_end 9999999999',
    'scdgen.tracked' = '["b", "c"]'
);
