-- r.t152
-- Integrity checks: each query returns the rows that break its rule, so no rows is good.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- one_current: at most one open version per key.
SELECT
    t.id,
    COUNT(*) AS row_count
FROM r.t152 AS t
WHERE t.current_flag = 'Y'
GROUP BY t.id
HAVING COUNT(*) > 1;

-- no_overlap: no version begins before the one before it has ended.
SELECT *
FROM (
    SELECT
        *,
        CASE WHEN NOT (t.current_flag = 'Y') THEN t.ends END AS _scd_until,
        LEAD(t.begins) OVER by_key AS _scd_next
    FROM r.t152 AS t
    WINDOW by_key AS (PARTITION BY t.id ORDER BY t.begins, t.ends)
)
WHERE _scd_next IS NOT NULL AND (_scd_until IS NULL OR _scd_next < _scd_until);

-- contiguous: a version ends where the next begins, a delete aside.
SELECT *
FROM (
    SELECT
        *,
        CASE WHEN NOT (t.current_flag = 'Y') THEN t.ends END AS _scd_until,
        LEAD(t.begins) OVER by_key AS _scd_next
    FROM r.t152 AS t
    WINDOW by_key AS (PARTITION BY t.id ORDER BY t.begins, t.ends)
)
WHERE _scd_until IS NOT NULL AND (_scd_next IS NULL OR _scd_until < _scd_next);

-- unique_start: no two versions of a key begin at one time.
SELECT
    t.id, t.begins,
    COUNT(*) AS row_count
FROM r.t152 AS t
GROUP BY t.id, t.begins
HAVING COUNT(*) > 1;

-- end_after_start: a version ends after it begins.
SELECT *
FROM r.t152 AS t
WHERE CASE WHEN NOT (t.current_flag = 'Y') THEN t.ends END <= t.begins
    OR t.ends IS NULL;

-- no_repeat: no two adjoining versions are equal.
SELECT *
FROM (
    SELECT
        *,
        CASE WHEN NOT (t.current_flag = 'Y') THEN t.ends END AS _scd_until,
        LEAD(STRUCT(t.a, t.b, t.c IS NULL AS c)) OVER by_key
            <=> STRUCT(t.a, t.b, t.c IS NULL AS c)
            AS _scd_same,
        LEAD(t.begins) OVER by_key AS _scd_next
    FROM r.t152 AS t
    WINDOW by_key AS (PARTITION BY t.id ORDER BY t.begins, t.ends)
)
WHERE _scd_next = _scd_until AND _scd_same;

-- flag_matches_end: the flag has one of its two values.
SELECT *
FROM r.t152 AS t
WHERE NOT COALESCE(t.current_flag IN ('Y', 'N'), FALSE);

-- key_not_null: no key and no start is NULL.
SELECT *
FROM r.t152 AS t
WHERE t.id IS NULL
    OR t.begins IS NULL;

-- hash_matches: the stored hash is that of the tracked columns.
SELECT *
FROM r.t152 AS t
WHERE NOT (
    t.the_row_hash
        <=> SHA2(TO_JSON(STRUCT(a, CAST(b AS STRING) AS b, c), MAP('ignoreNullFields', 'true')), 256)
);

-- known_b: a check of the spec.
SELECT * FROM r.t152 WHERE b > 2;
