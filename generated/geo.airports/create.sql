-- geo.airports: Airports of the world with their history, from dated releases of the whole list
-- Creates the table if it does not exist.
-- Generated from specs/airports.yml. To change it, edit the spec and run `scdgen generate`.

-- A session with other times stops here: what is created below would keep them.
SELECT CASE
    WHEN TYPEOF(CAST(NULL AS TIMESTAMP)) <> 'timestamp'
        THEN RAISE_ERROR('[SCDGEN_SETTINGS] geo.airports: needs TIMESTAMP_LTZ')
END;

CREATE SCHEMA IF NOT EXISTS geo;

CREATE TABLE IF NOT EXISTS geo.airports (
    icao STRING NOT NULL COMMENT 'Location indicator of the ICAO',
    iata STRING,
    name STRING,
    city STRING,
    subd STRING COMMENT 'Subdivision: state, province or region',
    country STRING,
    elevation DOUBLE COMMENT 'In feet',
    lat DOUBLE,
    lon DOUBLE,
    tz STRING,
    lid STRING COMMENT 'Local identifier',
    valid_from TIMESTAMP NOT NULL COMMENT 'Start of the version, inclusive',
    valid_to TIMESTAMP COMMENT 'Start of the next version, or time of the delete',
    is_current BOOLEAN NOT NULL COMMENT 'Whether the version is the open one'
)
USING DELTA
CLUSTER BY (icao)
COMMENT 'Airports of the world with their history, from dated releases of the whole list'
TBLPROPERTIES (
    'delta.enableDeletionVectors' = 'true',
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["icao"]',
    'scdgen.time_zone' = 'UTC',
    'scdgen.history' = 'timestamp',
    'scdgen.tracked' = '["iata", "name", "city", "subd", "country", "elevation", "lat", "lon", "tz", "lid"]'
);
