-- crm.customer_full: Customers, from a full extract; a customer that is gone from it is closed
-- Integrity checks: each query returns the rows that break its rule; an empty result means that it holds.
-- Generated from specs/customer_full.yml. To change it, edit the spec and run `scdgen generate`.

-- one_current: at most one open version per key.
SELECT
    t.customer_no,
    COUNT(*) AS row_count
FROM crm.customer_full AS t
WHERE t.expiry_ts = TIMESTAMP '9999-12-31 23:59:59.999 UTC'
GROUP BY t.customer_no
HAVING COUNT(*) > 1;

-- no_overlap: no version begins before the one before it has ended.
SELECT *
FROM (
    SELECT
        *,
        NULLIF(t.expiry_ts, TIMESTAMP '9999-12-31 23:59:59.999 UTC') + INTERVAL '1' MILLISECOND AS _scd_until,
        LEAD(t.effective_ts) OVER by_key AS _scd_next
    FROM crm.customer_full AS t
    WINDOW by_key AS (PARTITION BY t.customer_no ORDER BY t.effective_ts, t.expiry_ts)
)
WHERE _scd_next IS NOT NULL AND (_scd_until IS NULL OR _scd_next < _scd_until);

-- unique_start: no two versions of a key begin at one time.
SELECT
    t.customer_no, t.effective_ts,
    COUNT(*) AS row_count
FROM crm.customer_full AS t
GROUP BY t.customer_no, t.effective_ts
HAVING COUNT(*) > 1;

-- end_after_start: a version ends after it begins.
SELECT *
FROM crm.customer_full AS t
WHERE NULLIF(t.expiry_ts, TIMESTAMP '9999-12-31 23:59:59.999 UTC') + INTERVAL '1' MILLISECOND <= t.effective_ts
    OR t.expiry_ts IS NULL
    OR t.expiry_ts > TIMESTAMP '9999-12-31 23:59:59.999 UTC'
    OR t.effective_ts >= TIMESTAMP '9999-12-31 23:59:59.999 UTC';

-- no_repeat: no two adjoining versions are equal.
SELECT *
FROM (
    SELECT
        *,
        NULLIF(t.expiry_ts, TIMESTAMP '9999-12-31 23:59:59.999 UTC') + INTERVAL '1' MILLISECOND AS _scd_until,
        LEAD(STRUCT(t.name)) OVER by_key <=> STRUCT(t.name) AS _scd_same,
        LEAD(t.effective_ts) OVER by_key AS _scd_next
    FROM crm.customer_full AS t
    WINDOW by_key AS (PARTITION BY t.customer_no ORDER BY t.effective_ts, t.expiry_ts)
)
WHERE _scd_next = _scd_until AND _scd_same;

-- flag_matches_end: the flag agrees with the end.
SELECT *
FROM crm.customer_full AS t
WHERE NOT (t.is_current <=> CASE WHEN t.expiry_ts = TIMESTAMP '9999-12-31 23:59:59.999 UTC' THEN 1 ELSE 0 END);

-- key_not_null: no key and no start is NULL.
SELECT *
FROM crm.customer_full AS t
WHERE t.customer_no IS NULL
    OR t.effective_ts IS NULL;
