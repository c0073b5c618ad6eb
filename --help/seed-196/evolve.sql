ALTER TABLE r.t196 ADD COLUMNS (
    a STRING,
    b INT,
    c STRING
);

ALTER TABLE r.t196 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id"]',
    'scdgen.history' = 'bigint, gap 10, open_end 9999999999',
    'scdgen.tracked' = '["b", "c"]'
);
