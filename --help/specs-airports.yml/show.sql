SELECT
    icao, iata, name, city, subd, country, elevation, lat, lon, tz, lid, valid_from, valid_to, is_current
FROM geo.airports AS t
WHERE t.icao = CAST('1' AS STRING)
    AND t.valid_to IS NULL
ORDER BY icao, valid_from