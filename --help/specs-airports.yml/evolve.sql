ALTER TABLE geo.airports ADD COLUMNS (
    iata STRING,
    name STRING,
    city STRING,
    subd STRING COMMENT 'Subdivision: state, province or region',
    country STRING,
    elevation DOUBLE COMMENT 'In feet',
    lat DOUBLE,
    lon DOUBLE,
    tz STRING,
    lid STRING COMMENT 'Local identifier'
);

ALTER TABLE geo.airports SET TBLPROPERTIES (
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["icao"]',
    'scdgen.history' = 'timestamp',
    'scdgen.tracked' = '["iata", "name", "city", "subd", "country", "elevation", "lat", "lon", "tz", "lid"]'
);
