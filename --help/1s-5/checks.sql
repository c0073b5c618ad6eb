-- crm.customer
-- Integrity checks: each query returns the rows that break its rule, so no rows is good.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- unique_key: one row per key.
SELECT
    t.id, t.region,
    COUNT(*) AS row_count
FROM crm.customer AS t
GROUP BY t.id, t.region
HAVING COUNT(*) > 1;

-- key_not_null: no key is NULL.
SELECT *
FROM crm.customer AS t
WHERE t.id IS NULL
    OR t.region IS NULL;
