-- r.t200: it's \ number 200 -- of */ many
-- Integrity checks: each query returns the rows that break its rule, so no rows is good.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- one_current: at most one open version per key.
SELECT
    t.id, t.region,
    COUNT(*) AS row_count
FROM r.t200 AS t
WHERE t.ends = TIMESTAMP '9999-12-31 23:59:59.999'
GROUP BY t.id, t.region
HAVING COUNT(*) > 1;

-- no_overlap: no version begins before the one before it has ended.
SELECT *
FROM (
    SELECT
        *,
        NULLIF(t.ends, TIMESTAMP '9999-12-31 23:59:59.999') + INTERVAL '1' MICROSECOND AS _scd_until,
        LEAD(t.begins) OVER by_key AS _scd_next
    FROM r.t200 AS t
    WINDOW by_key AS (PARTITION BY t.id, t.region ORDER BY t.begins, t.ends)
)
WHERE _scd_next IS NOT NULL AND (_scd_until IS NULL OR _scd_next < _scd_until);

-- contiguous: a version ends where the next begins, a delete aside.
SELECT *
FROM (
    SELECT
        *,
        NULLIF(t.ends, TIMESTAMP '9999-12-31 23:59:59.999') + INTERVAL '1' MICROSECOND AS _scd_until,
        LEAD(t.begins) OVER by_key AS _scd_next
    FROM r.t200 AS t
    WINDOW by_key AS (PARTITION BY t.id, t.region ORDER BY t.begins, t.ends)
)
WHERE _scd_until IS NOT NULL AND (_scd_next IS NULL OR _scd_until < _scd_next);

-- unique_start: no two versions of a key begin at one time.
SELECT
    t.id, t.region, t.begins,
    COUNT(*) AS row_count
FROM r.t200 AS t
GROUP BY t.id, t.region, t.begins
HAVING COUNT(*) > 1;

-- end_after_start: a version ends after it begins.
SELECT *
FROM r.t200 AS t
WHERE NULLIF(t.ends, TIMESTAMP '9999-12-31 23:59:59.999') + INTERVAL '1' MICROSECOND <= t.begins
    OR t.ends IS NULL
    OR t.ends > TIMESTAMP '9999-12-31 23:59:59.999'
    OR t.begins >= TIMESTAMP '9999-12-31 23:59:59.999';

-- flag_matches_end: the flag says what the end says.
SELECT *
FROM r.t200 AS t
WHERE NOT (t.is_current <=> (t.ends = TIMESTAMP '9999-12-31 23:59:59.999'));

-- key_not_null: what each version has is not NULL.
SELECT *
FROM r.t200 AS t
WHERE t.id IS NULL
    OR t.region IS NULL
    OR t.begins IS NULL
    OR t.the_action IS NULL
    OR t.is_deleted IS NULL;

-- known_b: a check of the spec.
SELECT * FROM r.t200 WHERE b > 2;
