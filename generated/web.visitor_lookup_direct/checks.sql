-- web.visitor_lookup_direct: Every visitor's cookie with its users, from its first view on, in one MERGE
-- Integrity checks: each query returns the rows that break its rule; an empty result means that it holds.
-- Generated from specs/visitor/visitor_lookup_direct.yml. To change it, edit the spec and run `scdgen generate`.

-- one_current: at most one open version per key.
SELECT
    t.visitor_cookie_id,
    COUNT(*) AS row_count
FROM web.visitor_lookup_direct AS t
WHERE t.is_current
GROUP BY t.visitor_cookie_id
HAVING COUNT(*) > 1;

-- no_overlap: no version begins before the one before it has ended.
SELECT *
FROM (
    SELECT
        *,
        CASE WHEN NOT t.is_current THEN t.valid_end_date + INTERVAL '1' MICROSECOND END AS _scd_until,
        LEAD(t.valid_start_date) OVER by_key AS _scd_next
    FROM web.visitor_lookup_direct AS t
    WINDOW by_key AS (PARTITION BY t.visitor_cookie_id ORDER BY t.valid_start_date, t.valid_end_date)
)
WHERE _scd_next IS NOT NULL AND (_scd_until IS NULL OR _scd_next < _scd_until);

-- contiguous: a version ends where the next begins, unless a delete closed it.
SELECT *
FROM (
    SELECT
        *,
        CASE WHEN NOT t.is_current THEN t.valid_end_date + INTERVAL '1' MICROSECOND END AS _scd_until,
        LEAD(t.valid_start_date) OVER by_key AS _scd_next
    FROM web.visitor_lookup_direct AS t
    WINDOW by_key AS (PARTITION BY t.visitor_cookie_id ORDER BY t.valid_start_date, t.valid_end_date)
)
WHERE _scd_until IS NOT NULL AND (_scd_next IS NULL OR _scd_until < _scd_next);

-- unique_start: no two versions of a key begin at one time.
SELECT
    t.visitor_cookie_id, t.valid_start_date,
    COUNT(*) AS row_count
FROM web.visitor_lookup_direct AS t
GROUP BY t.visitor_cookie_id, t.valid_start_date
HAVING COUNT(*) > 1;

-- end_after_start: a version ends after it begins.
SELECT *
FROM web.visitor_lookup_direct AS t
WHERE CASE WHEN NOT t.is_current THEN t.valid_end_date + INTERVAL '1' MICROSECOND END <= t.valid_start_date
    OR t.valid_end_date IS NULL;

-- no_repeat: no two adjoining versions are equal.
SELECT *
FROM (
    SELECT
        *,
        CASE WHEN NOT t.is_current THEN t.valid_end_date + INTERVAL '1' MICROSECOND END AS _scd_until,
        LEAD(STRUCT(t.user_id, t.vcid_first_two)) OVER by_key
            <=> STRUCT(t.user_id, t.vcid_first_two)
            AS _scd_same,
        LEAD(t.valid_start_date) OVER by_key AS _scd_next
    FROM web.visitor_lookup_direct AS t
    WINDOW by_key AS (PARTITION BY t.visitor_cookie_id ORDER BY t.valid_start_date, t.valid_end_date)
)
WHERE _scd_next = _scd_until AND _scd_same;

-- flag_matches_end: the flag has one of its two values.
SELECT *
FROM web.visitor_lookup_direct AS t
WHERE NOT COALESCE(t.is_current IN (TRUE, FALSE), FALSE);

-- key_not_null: no key and no start is NULL.
SELECT *
FROM web.visitor_lookup_direct AS t
WHERE t.visitor_cookie_id IS NULL
    OR t.valid_start_date IS NULL;

-- start_lag: a check of the spec.
SELECT * FROM (
    SELECT *, LEAD(valid_start_date) OVER (PARTITION BY visitor_cookie_id ORDER BY valid_start_date) AS next_start
    FROM web.visitor_lookup_direct
) WHERE valid_end_date <> next_start - INTERVAL 1 MICROSECOND;

-- one_current_row: a check of the spec.
SELECT visitor_cookie_id FROM web.visitor_lookup_direct GROUP BY ALL HAVING COUNT_IF(is_current) <> 1;

-- one_version_of_a_start: a check of the spec.
SELECT visitor_cookie_id, valid_start_date FROM web.visitor_lookup_direct GROUP BY ALL HAVING COUNT(*) > 1;

-- end_before_start: a check of the spec.
SELECT * FROM web.visitor_lookup_direct WHERE valid_end_date < valid_start_date;
