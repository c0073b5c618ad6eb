SELECT
    icao, iata, name, city, subd, country, elevation, lat, lon, tz, lid, valid_from, valid_to, is_current
FROM geo.airports AS t
WHERE t.valid_from <= CAST('2024-01-01' AS TIMESTAMP)
    AND (t.valid_to IS NULL OR t.valid_to > CAST('2024-01-01' AS TIMESTAMP))
ORDER BY icao, valid_from