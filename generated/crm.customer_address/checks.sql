-- crm.customer_address: One row per address of a customer
-- Integrity checks: each query returns the rows that break its rule; an empty result means that it holds.
-- Generated from specs/customer_address.yml. To change it, edit the spec and run `scdgen generate`.

-- one_current: at most one open version per key.
SELECT
    t.id,
    COUNT(*) AS row_count
FROM crm.customer_address AS t
WHERE t.end_date IS NULL
GROUP BY t.id
HAVING COUNT(*) > 1;

-- no_overlap: no version begins before the one before it has ended.
SELECT *
FROM (
    SELECT
        *,
        t.end_date AS _scd_until,
        LEAD(t.start_date) OVER by_key AS _scd_next
    FROM crm.customer_address AS t
    WINDOW by_key AS (PARTITION BY t.id ORDER BY t.start_date, t.end_date)
)
WHERE _scd_next IS NOT NULL AND (_scd_until IS NULL OR _scd_next < _scd_until);

-- contiguous: a version ends where the next begins, unless a delete closed it.
SELECT *
FROM (
    SELECT
        *,
        t.end_date AS _scd_until,
        LEAD(t.start_date) OVER by_key AS _scd_next
    FROM crm.customer_address AS t
    WINDOW by_key AS (PARTITION BY t.id ORDER BY t.start_date, t.end_date)
)
WHERE _scd_until IS NOT NULL AND (_scd_next IS NULL OR _scd_until < _scd_next);

-- unique_start: no two versions of a key begin at one time.
SELECT
    t.id, t.start_date,
    COUNT(*) AS row_count
FROM crm.customer_address AS t
GROUP BY t.id, t.start_date
HAVING COUNT(*) > 1;

-- end_after_start: a version ends after it begins.
SELECT *
FROM crm.customer_address AS t
WHERE t.end_date <= t.start_date;

-- no_repeat: no two adjoining versions are equal.
SELECT *
FROM (
    SELECT
        *,
        t.end_date AS _scd_until,
        LEAD(STRUCT(t.address)) OVER by_key <=> STRUCT(t.address) AS _scd_same,
        LEAD(t.start_date) OVER by_key AS _scd_next
    FROM crm.customer_address AS t
    WINDOW by_key AS (PARTITION BY t.id ORDER BY t.start_date, t.end_date)
)
WHERE _scd_next = _scd_until AND _scd_same;

-- flag_matches_end: the flag agrees with the end.
SELECT *
FROM crm.customer_address AS t
WHERE NOT (t.is_current <=> (t.end_date IS NULL));

-- key_not_null: no key and no start is NULL.
SELECT *
FROM crm.customer_address AS t
WHERE t.id IS NULL
    OR t.start_date IS NULL;
