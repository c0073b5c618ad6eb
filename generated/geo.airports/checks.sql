-- geo.airports: Airports of the world with their history, from dated releases of the whole list
-- Integrity checks: each query returns the rows that break its rule; an empty result means that it holds.
-- Generated from specs/airports.yml. To change it, edit the spec and run `scdgen generate`.

-- one_current: at most one open version per key.
SELECT
    t.icao,
    COUNT(*) AS row_count
FROM geo.airports AS t
WHERE t.valid_to IS NULL
GROUP BY t.icao
HAVING COUNT(*) > 1;

-- no_overlap: no version begins before the one before it has ended.
SELECT *
FROM (
    SELECT
        *,
        t.valid_to AS _scd_until,
        LEAD(t.valid_from) OVER by_key AS _scd_next
    FROM geo.airports AS t
    WINDOW by_key AS (PARTITION BY t.icao ORDER BY t.valid_from, t.valid_to)
)
WHERE _scd_next IS NOT NULL AND (_scd_until IS NULL OR _scd_next < _scd_until);

-- unique_start: no two versions of a key begin at one time.
SELECT
    t.icao, t.valid_from,
    COUNT(*) AS row_count
FROM geo.airports AS t
GROUP BY t.icao, t.valid_from
HAVING COUNT(*) > 1;

-- end_after_start: a version ends after it begins.
SELECT *
FROM geo.airports AS t
WHERE t.valid_to <= t.valid_from;

-- no_repeat: no two adjoining versions are equal.
SELECT *
FROM (
    SELECT
        *,
        t.valid_to AS _scd_until,
        LEAD(STRUCT(
            t.iata, t.name, t.city, t.subd, t.country, t.elevation, ROUND(t.lat, 3) AS lat,
            ROUND(t.lon, 3) AS lon, t.tz, t.lid
        )) OVER by_key
            <=> STRUCT(
                t.iata, t.name, t.city, t.subd, t.country, t.elevation, ROUND(t.lat, 3) AS lat,
                ROUND(t.lon, 3) AS lon, t.tz, t.lid
            )
            AS _scd_same,
        LEAD(t.valid_from) OVER by_key AS _scd_next
    FROM geo.airports AS t
    WINDOW by_key AS (PARTITION BY t.icao ORDER BY t.valid_from, t.valid_to)
)
WHERE _scd_next = _scd_until AND _scd_same;

-- flag_matches_end: the flag agrees with the end.
SELECT *
FROM geo.airports AS t
WHERE NOT (t.is_current <=> (t.valid_to IS NULL));

-- key_not_null: no key and no start is NULL.
SELECT *
FROM geo.airports AS t
WHERE t.icao IS NULL
    OR t.valid_from IS NULL;
