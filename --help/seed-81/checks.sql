-- r.t81: it's \ number 81 -- of */ many
-- Integrity checks: each query returns the rows that break its rule, so no rows is good.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- one_current: at most one open version per key.
SELECT
    t.id, t.region,
    COUNT(*) AS row_count
FROM r.t81 AS t
WHERE t.current_flag = 'Y'
GROUP BY t.id, t.region
HAVING COUNT(*) > 1;

-- no_overlap: no version begins before the one before it has ended.
SELECT *
FROM (
    SELECT
        *,
        CASE WHEN NOT (t.current_flag = 'Y') THEN t.ends + 1 END AS _scd_until,
        LEAD(t.begins) OVER by_key AS _scd_next
    FROM r.t81 AS t
    WINDOW by_key AS (PARTITION BY t.id, t.region ORDER BY t.begins, t.ends)
)
WHERE _scd_next IS NOT NULL AND (_scd_until IS NULL OR _scd_next < _scd_until);

-- contiguous: a version ends where the next begins, a delete aside.
SELECT *
FROM (
    SELECT
        *,
        CASE WHEN NOT (t.current_flag = 'Y') THEN t.ends + 1 END AS _scd_until,
        LEAD(t.begins) OVER by_key AS _scd_next
    FROM r.t81 AS t
    WINDOW by_key AS (PARTITION BY t.id, t.region ORDER BY t.begins, t.ends)
)
WHERE _scd_until IS NOT NULL AND (_scd_next IS NULL OR _scd_until < _scd_next);

-- unique_start: no two versions of a key begin at one time.
SELECT
    t.id, t.region, t.begins,
    COUNT(*) AS row_count
FROM r.t81 AS t
GROUP BY t.id, t.region, t.begins
HAVING COUNT(*) > 1;

-- end_after_start: a version ends after it begins.
SELECT *
FROM r.t81 AS t
WHERE CASE WHEN NOT (t.current_flag = 'Y') THEN t.ends + 1 END <= t.begins
    OR t.ends IS NULL;

-- no_repeat: no two adjoining versions are equal.
SELECT *
FROM (
    SELECT
        *,
        CASE WHEN NOT (t.current_flag = 'Y') THEN t.ends + 1 END AS _scd_until,
        LEAD(STRUCT(t.c, t.is_deleted)) OVER by_key <=> STRUCT(t.c, t.is_deleted) AS _scd_same,
        LEAD(t.begins) OVER by_key AS _scd_next
    FROM r.t81 AS t
    WINDOW by_key AS (PARTITION BY t.id, t.region ORDER BY t.begins, t.ends)
)
WHERE _scd_next = _scd_until AND _scd_same;

-- flag_matches_end: the flag has one of its two values.
SELECT *
FROM r.t81 AS t
WHERE NOT COALESCE(t.current_flag IN ('Y', 'N'), FALSE);

-- key_not_null: what each version has is not NULL.
SELECT *
FROM r.t81 AS t
WHERE t.id IS NULL
    OR t.region IS NULL
    OR t.begins IS NULL
    OR t.the_action IS NULL
    OR t.is_deleted IS NULL;

-- known_b: a check of the spec.
SELECT * FROM r.t81 WHERE b > 2;
