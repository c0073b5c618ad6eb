WITH incoming AS (
    SELECT
        CAST(icao AS STRING) AS icao,
        CAST(iata AS STRING) AS iata,
        CAST(name AS STRING) AS name,
        CAST(city AS STRING) AS city,
        CAST(subd AS STRING) AS subd,
        CAST(country AS STRING) AS country,
        CAST(elevation AS DOUBLE) AS elevation,
        CAST(lat AS DOUBLE) AS lat,
        CAST(lon AS DOUBLE) AS lon,
        CAST(tz AS STRING) AS tz,
        CAST(lid AS STRING) AS lid
    FROM geo.airports_release
)
SELECT COUNT(*), 0 FROM incoming