-- web.first_dates: When each visitor's cookie was seen first, with or without a user
-- Integrity checks: each query returns the rows that break its rule; an empty result means that it holds.
-- Generated from specs/visitor/first_dates.yml. To change it, edit the spec and run `scdgen generate`.

-- unique_key: one row per key.
SELECT
    t.visitor_cookie_id,
    COUNT(*) AS row_count
FROM web.first_dates AS t
GROUP BY t.visitor_cookie_id
HAVING COUNT(*) > 1;

-- key_not_null: no key is NULL.
SELECT *
FROM web.first_dates AS t
WHERE t.visitor_cookie_id IS NULL;
