ALTER TABLE r.t114 ADD COLUMNS (
    a STRING,
    b INT,
    c STRING
);

ALTER TABLE r.t114 SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["id"]',
    'scdgen.history' = 'timestamp, open_end last_run',
    'scdgen.tracked' = '["b", "c"]'
);
