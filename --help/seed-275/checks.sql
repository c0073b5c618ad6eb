-- r.t275
-- Integrity checks: each query returns the rows that break its rule, so no rows is good.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- unique_key: one row per key.
SELECT
    t.id,
    COUNT(*) AS row_count
FROM r.t275 AS t
GROUP BY t.id
HAVING COUNT(*) > 1;

-- key_not_null: no key is NULL.
SELECT *
FROM r.t275 AS t
WHERE t.id IS NULL;

-- known_b: a check of the spec.
SELECT * FROM r.t275 WHERE b > 2;
