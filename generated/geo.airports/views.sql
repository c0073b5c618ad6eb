-- geo.airports: Airports of the world with their history, from dated releases of the whole list
-- Views of the table.
-- Generated from specs/airports.yml. To change it, edit the spec and run `scdgen generate`.

-- A session with other times stops here: what is created below would keep them.
SELECT CASE
    WHEN TYPEOF(CAST(NULL AS TIMESTAMP)) <> 'timestamp'
        THEN RAISE_ERROR('[SCDGEN_SETTINGS] geo.airports: needs TIMESTAMP_LTZ')
END;

-- The open versions; one may start in the future.
CREATE OR REPLACE VIEW geo.airports_current AS
SELECT icao, iata, name, city, subd, country, elevation, lat, lon, tz, lid, valid_from, valid_to, is_current
FROM geo.airports AS t
WHERE t.valid_to IS NULL;

-- The versions valid at a time: SELECT * FROM geo.airports_as_of(TIMESTAMP '2024-01-01').
CREATE OR REPLACE FUNCTION geo.airports_as_of (at TIMESTAMP)
RETURNS TABLE
RETURN
SELECT icao, iata, name, city, subd, country, elevation, lat, lon, tz, lid, valid_from, valid_to, is_current
FROM geo.airports AS t
WHERE t.valid_from <= at AND (t.valid_to IS NULL OR t.valid_to > at);
