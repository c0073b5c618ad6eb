-- r.t112: it's \ number 112 -- of */ many
-- Integrity checks: each query returns the rows that break its rule, so no rows is good.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- one_current: at most one open version per key.
SELECT
    t.id,
    COUNT(*) AS row_count
FROM r.t112 AS t
WHERE t.ends = DATE '9999-12-31'
GROUP BY t.id
HAVING COUNT(*) > 1;

-- no_overlap: no version begins before the one before it has ended.
SELECT *
FROM (
    SELECT
        *,
        NULLIF(t.ends, DATE '9999-12-31') + INTERVAL '1' DAY AS _scd_until,
        LEAD(t.begins) OVER by_key AS _scd_next
    FROM r.t112 AS t
    WINDOW by_key AS (PARTITION BY t.id ORDER BY t.begins, t.ends)
)
WHERE _scd_next IS NOT NULL AND (_scd_until IS NULL OR _scd_next < _scd_until);

-- contiguous: a version ends where the next begins, a delete aside.
SELECT *
FROM (
    SELECT
        *,
        NULLIF(t.ends, DATE '9999-12-31') + INTERVAL '1' DAY AS _scd_until,
        LEAD(t.begins) OVER by_key AS _scd_next
    FROM r.t112 AS t
    WINDOW by_key AS (PARTITION BY t.id ORDER BY t.begins, t.ends)
)
WHERE _scd_until IS NOT NULL AND (_scd_next IS NULL OR _scd_until < _scd_next);

-- unique_start: no two versions of a key begin at one time.
SELECT
    t.id, t.begins,
    COUNT(*) AS row_count
FROM r.t112 AS t
GROUP BY t.id, t.begins
HAVING COUNT(*) > 1;

-- end_after_start: a version ends after it begins.
SELECT *
FROM r.t112 AS t
WHERE NULLIF(t.ends, DATE '9999-12-31') + INTERVAL '1' DAY <= t.begins
    OR t.ends IS NULL
    OR t.ends > DATE '9999-12-31'
    OR t.begins >= DATE '9999-12-31';

-- key_not_null: no key and no start is NULL.
SELECT *
FROM r.t112 AS t
WHERE t.id IS NULL
    OR t.begins IS NULL;

-- known_b: a check of the spec.
SELECT * FROM r.t112 WHERE b > 2;
