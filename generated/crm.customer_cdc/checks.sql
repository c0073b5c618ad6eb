-- crm.customer_cdc: Customers, from a change feed with deletes; an update comes as a delete and an insert of one time
-- Integrity checks: each query returns the rows that break its rule; an empty result means that it holds.
-- Generated from specs/customer_cdc.yml. To change it, edit the spec and run `scdgen generate`.

-- one_current: at most one open version per key.
SELECT
    t.company, t.customer_no,
    COUNT(*) AS row_count
FROM crm.customer_cdc AS t
WHERE t.valid_to IS NULL
GROUP BY t.company, t.customer_no
HAVING COUNT(*) > 1;

-- no_overlap: no version begins before the one before it has ended.
SELECT *
FROM (
    SELECT
        *,
        t.valid_to AS _scd_until,
        LEAD(t.valid_from) OVER by_key AS _scd_next
    FROM crm.customer_cdc AS t
    WINDOW by_key AS (PARTITION BY t.company, t.customer_no ORDER BY t.valid_from, t.valid_to)
)
WHERE _scd_next IS NOT NULL AND (_scd_until IS NULL OR _scd_next < _scd_until);

-- contiguous: a version ends where the next begins, unless a delete closed it.
SELECT *
FROM (
    SELECT
        *,
        t.valid_to AS _scd_until,
        LEAD(t.valid_from) OVER by_key AS _scd_next
    FROM crm.customer_cdc AS t
    WINDOW by_key AS (PARTITION BY t.company, t.customer_no ORDER BY t.valid_from, t.valid_to)
)
WHERE _scd_until IS NOT NULL AND (_scd_next IS NULL OR _scd_until < _scd_next) AND action <> 'D'
    OR _scd_until IS NULL AND action = 'D';

-- unique_start: no two versions of a key begin at one time.
SELECT
    t.company, t.customer_no, t.valid_from,
    COUNT(*) AS row_count
FROM crm.customer_cdc AS t
GROUP BY t.company, t.customer_no, t.valid_from
HAVING COUNT(*) > 1;

-- end_after_start: a version ends after it begins.
SELECT *
FROM crm.customer_cdc AS t
WHERE t.valid_to <= t.valid_from;

-- no_repeat: no two adjoining versions are equal.
SELECT *
FROM (
    SELECT
        *,
        t.valid_to AS _scd_until,
        LEAD(STRUCT(t.name, t.city)) OVER by_key <=> STRUCT(t.name, t.city) AS _scd_same,
        LEAD(t.valid_from) OVER by_key AS _scd_next
    FROM crm.customer_cdc AS t
    WINDOW by_key AS (PARTITION BY t.company, t.customer_no ORDER BY t.valid_from, t.valid_to)
)
WHERE _scd_next = _scd_until AND _scd_same;

-- flag_matches_end: the flag agrees with the end.
SELECT *
FROM crm.customer_cdc AS t
WHERE NOT (t.is_current <=> (t.valid_to IS NULL));

-- key_not_null: no column that every version must have is NULL.
SELECT *
FROM crm.customer_cdc AS t
WHERE t.company IS NULL
    OR t.customer_no IS NULL
    OR t.valid_from IS NULL
    OR t.action IS NULL;
