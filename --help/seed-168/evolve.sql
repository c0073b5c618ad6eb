ALTER TABLE r.t168 ADD COLUMNS (
    a STRING,
    b INT,
    c STRING
);

ALTER TABLE r.t168 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id", "region"]',
    'scdgen.history' = 'bigint, open_end 9999999999',
    'scdgen.tracked' = '["c"]'
);
