-- dwh.dim_customer: Customer dimension; a change of address or date of birth opens a version, a change of name does not
-- Integrity checks: each query returns the rows that break its rule; an empty result means that it holds.
-- Generated from specs/dim_design.yml. To change it, edit the spec and run `scdgen generate`.

-- one_current: at most one open version per key.
SELECT
    t.region, t.customer_no,
    COUNT(*) AS row_count
FROM dwh.dim_customer AS t
WHERE t.end_date = DATE '9999-12-31'
GROUP BY t.region, t.customer_no
HAVING COUNT(*) > 1;

-- no_overlap: no version begins before the one before it has ended.
SELECT *
FROM (
    SELECT
        *,
        NULLIF(t.end_date, DATE '9999-12-31') + INTERVAL '1' DAY AS _scd_until,
        LEAD(t.start_date) OVER by_key AS _scd_next
    FROM dwh.dim_customer AS t
    WINDOW by_key AS (PARTITION BY t.region, t.customer_no ORDER BY t.start_date, t.end_date)
)
WHERE _scd_next IS NOT NULL AND (_scd_until IS NULL OR _scd_next < _scd_until);

-- contiguous: a version ends where the next begins, unless a delete closed it.
SELECT *
FROM (
    SELECT
        *,
        NULLIF(t.end_date, DATE '9999-12-31') + INTERVAL '1' DAY AS _scd_until,
        LEAD(t.start_date) OVER by_key AS _scd_next
    FROM dwh.dim_customer AS t
    WINDOW by_key AS (PARTITION BY t.region, t.customer_no ORDER BY t.start_date, t.end_date)
)
WHERE _scd_until IS NOT NULL AND (_scd_next IS NULL OR _scd_until < _scd_next);

-- unique_start: no two versions of a key begin at one time.
SELECT
    t.region, t.customer_no, t.start_date,
    COUNT(*) AS row_count
FROM dwh.dim_customer AS t
GROUP BY t.region, t.customer_no, t.start_date
HAVING COUNT(*) > 1;

-- end_after_start: a version ends after it begins.
SELECT *
FROM dwh.dim_customer AS t
WHERE NULLIF(t.end_date, DATE '9999-12-31') + INTERVAL '1' DAY <= t.start_date
    OR t.end_date IS NULL
    OR t.end_date > DATE '9999-12-31'
    OR t.start_date >= DATE '9999-12-31';

-- no_repeat: no two adjoining versions are equal.
SELECT *
FROM (
    SELECT
        *,
        NULLIF(t.end_date, DATE '9999-12-31') + INTERVAL '1' DAY AS _scd_until,
        LEAD(STRUCT(t.address, t.birth_date)) OVER by_key
            <=> STRUCT(t.address, t.birth_date)
            AS _scd_same,
        LEAD(t.start_date) OVER by_key AS _scd_next
    FROM dwh.dim_customer AS t
    WINDOW by_key AS (PARTITION BY t.region, t.customer_no ORDER BY t.start_date, t.end_date)
)
WHERE _scd_next = _scd_until AND _scd_same;

-- flag_matches_end: the flag agrees with the end.
SELECT *
FROM dwh.dim_customer AS t
WHERE NOT (t.current_flag <=> CASE WHEN t.end_date = DATE '9999-12-31' THEN 'Y' ELSE 'N' END);

-- key_not_null: no key and no start is NULL.
SELECT *
FROM dwh.dim_customer AS t
WHERE t.region IS NULL
    OR t.customer_no IS NULL
    OR t.start_date IS NULL;

-- hash_matches: the stored hash is that of the tracked columns.
SELECT *
FROM dwh.dim_customer AS t
WHERE NOT (
    t.row_hash
        <=> SHA2(
            TO_JSON(STRUCT(address, CAST(birth_date AS STRING) AS birth_date), MAP('ignoreNullFields', 'true')),
            256
        )
);

-- birth_before_start: a check of the spec.
SELECT * FROM dwh.dim_customer WHERE birth_date > start_date;
