SELECT
    _scd_change,
    valid_from AS _scd_since,
    _scd_old,
    _scd_new
FROM (
    SELECT
        COALESCE(o.icao, n.icao) AS icao,
        COALESCE(o.valid_from, n.valid_from) AS valid_from,
        CASE
            WHEN o._scd_row IS NULL THEN 'opened'
            WHEN n._scd_row IS NULL THEN 'folded'
            WHEN NOT (o._scd_state <=> n._scd_state) THEN IF(o._scd_open AND NOT n._scd_open, 'closed', 'corrected')
        END AS _scd_change,
        o._scd_row AS _scd_old,
        n._scd_row AS _scd_new
    FROM (
        SELECT
            t.icao, t.valid_from,
            t.valid_to IS NULL AS _scd_open,
            STRUCT(
                t.icao, t.iata, t.name, t.city, t.subd, t.country, t.elevation, t.lat, t.lon, t.tz,
                CAST(NULL AS STRING) AS lid, t.valid_from, t.valid_to, t.is_current
            ) AS _scd_state,
            STRUCT(
                t.icao, t.iata, t.name, t.city, t.subd, t.country, t.elevation, t.lat, t.lon, t.tz,
                CAST(NULL AS STRING) AS lid, t.valid_from, t.valid_to, t.is_current
            ) AS _scd_row
        FROM geo.airports VERSION AS OF 3 AS t
        WHERE t.icao = CAST('1' AS STRING)
    ) AS o
    FULL OUTER JOIN (
        SELECT
            t.icao, t.valid_from,
            t.valid_to IS NULL AS _scd_open,
            STRUCT(
                t.icao, t.iata, t.name, t.city, t.subd, t.country, t.elevation, t.lat, t.lon, t.tz,
                t.lid, t.valid_from, t.valid_to, t.is_current
            ) AS _scd_state,
            STRUCT(
                t.icao, t.iata, t.name, t.city, t.subd, t.country, t.elevation, t.lat, t.lon, t.tz,
                t.lid, t.valid_from, t.valid_to, t.is_current
            ) AS _scd_row
        FROM geo.airports VERSION AS OF 4 AS t
        WHERE t.icao = CAST('1' AS STRING)
    ) AS n
        ON o.icao <=> n.icao AND o.valid_from <=> n.valid_from
)
WHERE _scd_change IS NOT NULL
ORDER BY icao, valid_from