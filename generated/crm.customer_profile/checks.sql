-- crm.customer_profile: Customers with their address and their segment, from the histories of both
-- Integrity checks: each query returns the rows that break its rule; an empty result means that it holds.
-- Generated from specs/customer_profile.yml. To change it, edit the spec and run `scdgen generate`.

-- one_current: at most one open version per key.
SELECT
    t.id,
    COUNT(*) AS row_count
FROM crm.customer_profile AS t
WHERE t.valid_to IS NULL
GROUP BY t.id
HAVING COUNT(*) > 1;

-- no_overlap: no version begins before the one before it has ended.
SELECT *
FROM (
    SELECT
        *,
        t.valid_to AS _scd_until,
        LEAD(t.valid_from) OVER by_key AS _scd_next
    FROM crm.customer_profile AS t
    WINDOW by_key AS (PARTITION BY t.id ORDER BY t.valid_from, t.valid_to)
)
WHERE _scd_next IS NOT NULL AND (_scd_until IS NULL OR _scd_next < _scd_until);

-- unique_start: no two versions of a key begin at one time.
SELECT
    t.id, t.valid_from,
    COUNT(*) AS row_count
FROM crm.customer_profile AS t
GROUP BY t.id, t.valid_from
HAVING COUNT(*) > 1;

-- end_after_start: a version ends after it begins.
SELECT *
FROM crm.customer_profile AS t
WHERE t.valid_to <= t.valid_from;

-- no_repeat: no two adjoining versions are equal.
SELECT *
FROM (
    SELECT
        *,
        t.valid_to AS _scd_until,
        LEAD(STRUCT(t.name, t.address, t.segment)) OVER by_key
            <=> STRUCT(t.name, t.address, t.segment)
            AS _scd_same,
        LEAD(t.valid_from) OVER by_key AS _scd_next
    FROM crm.customer_profile AS t
    WINDOW by_key AS (PARTITION BY t.id ORDER BY t.valid_from, t.valid_to)
)
WHERE _scd_next = _scd_until AND _scd_same;

-- flag_matches_end: the flag agrees with the end.
SELECT *
FROM crm.customer_profile AS t
WHERE NOT (t.is_current <=> (t.valid_to IS NULL));

-- key_not_null: no key and no start is NULL.
SELECT *
FROM crm.customer_profile AS t
WHERE t.id IS NULL
    OR t.valid_from IS NULL;
