-- crm.customer_address: One row per address of a customer
-- Integrity checks: a row for each check that the table breaks; no row means that all hold.
-- Generated from specs/customer_address.yml. To change it, edit the spec and run `scdgen generate`.

WITH judged AS (
    -- Each row by itself. What a window carries is computed before it.
    SELECT
        *,
        t.end_date <= t.start_date AS _scd_end_after_start,
        t.is_current IS DISTINCT FROM (t.end_date IS NULL) AS _scd_flag_matches_end,
        t.id IS NULL OR t.start_date IS NULL AS _scd_key_not_null,
        t.end_date AS _scd_to,
        STRUCT(t.address) AS _scd_state
    FROM crm.customer_address AS t
),
neighbours AS (
    -- Each row with the next of its key, and whether it is the second where there should be one.
    SELECT
        *,
        LEAD(t.start_date) OVER by_key AS _scd_next,
        LEAD(t._scd_state) OVER by_key IS NOT DISTINCT FROM t._scd_state AS _scd_same,
        (t.end_date IS NULL)
            AND COUNT_IF(t.end_date IS NULL) OVER (
                PARTITION BY t.id
                ORDER BY t.start_date, t.end_date
                ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
            ) = 2 AS _scd_one_current,
        ROW_NUMBER() OVER (PARTITION BY t.id, t.start_date ORDER BY t.start_date, t.end_date) = 2 AS _scd_unique_start
    FROM judged AS t
    WINDOW by_key AS (PARTITION BY t.id ORDER BY t.start_date, t.end_date)
)
SELECT p.check_name, COUNT(*) AS broken_rows, MIN(TO_JSON(STRUCT(t.id, t.start_date))) AS sample
FROM neighbours AS t
    LATERAL VIEW STACK(8,
        -- at most one open version per key.
        'one_current', _scd_one_current,
        -- no version begins before the one before it has ended.
        'no_overlap', _scd_next IS NOT NULL AND (_scd_to IS NULL OR _scd_next < _scd_to),
        -- a version ends where the next begins.
        'contiguous', _scd_to IS NOT NULL AND (_scd_next IS NULL OR _scd_to < _scd_next),
        -- no two versions of a key begin at one time.
        'unique_start', _scd_unique_start,
        -- a version ends after it begins.
        'end_after_start', _scd_end_after_start,
        -- no two adjoining versions are equal.
        'no_repeat', _scd_next = _scd_to AND _scd_same,
        -- the flag agrees with the end.
        'flag_matches_end', _scd_flag_matches_end,
        -- no key and no start is NULL.
        'key_not_null', _scd_key_not_null
    ) p AS check_name, is_broken
WHERE p.is_broken
GROUP BY p.check_name;
