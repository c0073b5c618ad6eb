-- web.user_mapping: Which user a visitor's cookie belonged to, and when
-- Integrity checks: each query returns the rows that break its rule; an empty result means that it holds.
-- Generated from specs/visitor/user_mapping.yml. To change it, edit the spec and run `scdgen generate`.

-- one_current: at most one open version per key.
SELECT
    t.visitor_cookie_id,
    COUNT(*) AS row_count
FROM web.user_mapping AS t
WHERE t.valid_end_date IS NULL
GROUP BY t.visitor_cookie_id
HAVING COUNT(*) > 1;

-- no_overlap: no version begins before the one before it has ended.
SELECT *
FROM (
    SELECT
        *,
        t.valid_end_date + INTERVAL '1' MICROSECOND AS _scd_until,
        LEAD(t.valid_start_date) OVER by_key AS _scd_next
    FROM web.user_mapping AS t
    WINDOW by_key AS (PARTITION BY t.visitor_cookie_id ORDER BY t.valid_start_date, t.valid_end_date)
)
WHERE _scd_next IS NOT NULL AND (_scd_until IS NULL OR _scd_next < _scd_until);

-- contiguous: a version ends where the next begins, unless a delete closed it.
SELECT *
FROM (
    SELECT
        *,
        t.valid_end_date + INTERVAL '1' MICROSECOND AS _scd_until,
        LEAD(t.valid_start_date) OVER by_key AS _scd_next
    FROM web.user_mapping AS t
    WINDOW by_key AS (PARTITION BY t.visitor_cookie_id ORDER BY t.valid_start_date, t.valid_end_date)
)
WHERE _scd_until IS NOT NULL AND (_scd_next IS NULL OR _scd_until < _scd_next);

-- unique_start: no two versions of a key begin at one time.
SELECT
    t.visitor_cookie_id, t.valid_start_date,
    COUNT(*) AS row_count
FROM web.user_mapping AS t
GROUP BY t.visitor_cookie_id, t.valid_start_date
HAVING COUNT(*) > 1;

-- end_after_start: a version ends after it begins.
SELECT *
FROM web.user_mapping AS t
WHERE t.valid_end_date + INTERVAL '1' MICROSECOND <= t.valid_start_date;

-- no_repeat: no two adjoining versions are equal.
SELECT *
FROM (
    SELECT
        *,
        t.valid_end_date + INTERVAL '1' MICROSECOND AS _scd_until,
        LEAD(STRUCT(t.user_id, t.vcid_first_two)) OVER by_key
            <=> STRUCT(t.user_id, t.vcid_first_two)
            AS _scd_same,
        LEAD(t.valid_start_date) OVER by_key AS _scd_next
    FROM web.user_mapping AS t
    WINDOW by_key AS (PARTITION BY t.visitor_cookie_id ORDER BY t.valid_start_date, t.valid_end_date)
)
WHERE _scd_next = _scd_until AND _scd_same;

-- flag_matches_end: the flag agrees with the end.
SELECT *
FROM web.user_mapping AS t
WHERE NOT (t.is_current <=> (t.valid_end_date IS NULL));

-- key_not_null: no key and no start is NULL.
SELECT *
FROM web.user_mapping AS t
WHERE t.visitor_cookie_id IS NULL
    OR t.valid_start_date IS NULL;
