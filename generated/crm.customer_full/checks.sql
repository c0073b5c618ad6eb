-- crm.customer_full: Customers, from a full extract; a customer that is gone from it is closed
-- Integrity checks: a row for each check that the table breaks; no row means that all hold.
-- Generated from specs/customer_full.yml. To change it, edit the spec and run `scdgen generate`.

WITH judged AS (
    -- Each row by itself. What a window carries is computed before it.
    SELECT
        *,
        NULLIF(t.expiry_ts, TIMESTAMP '9999-12-31 23:59:59.999 UTC') + INTERVAL '1' MILLISECOND <= t.effective_ts
            OR t.expiry_ts IS NULL
            OR t.expiry_ts > TIMESTAMP '9999-12-31 23:59:59.999 UTC'
            OR t.effective_ts >= TIMESTAMP '9999-12-31 23:59:59.999 UTC'
            AS _scd_end_after_start,
        t.is_current IS DISTINCT FROM CASE
            WHEN t.expiry_ts = TIMESTAMP '9999-12-31 23:59:59.999 UTC' THEN 1
            ELSE 0
        END AS _scd_flag_matches_end,
        t.customer_no IS NULL OR t.effective_ts IS NULL AS _scd_key_not_null,
        NULLIF(t.expiry_ts, TIMESTAMP '9999-12-31 23:59:59.999 UTC') + INTERVAL '1' MILLISECOND AS _scd_to,
        STRUCT(t.name) AS _scd_state
    FROM crm.customer_full AS t
),
neighbours AS (
    -- Each row with the next of its key, and whether it is the second where there should be one.
    SELECT
        *,
        LEAD(t.effective_ts) OVER by_key AS _scd_next,
        LEAD(t._scd_state) OVER by_key IS NOT DISTINCT FROM t._scd_state AS _scd_same,
        (t.expiry_ts = TIMESTAMP '9999-12-31 23:59:59.999 UTC')
            AND COUNT_IF(t.expiry_ts = TIMESTAMP '9999-12-31 23:59:59.999 UTC') OVER (
                PARTITION BY t.customer_no
                ORDER BY t.effective_ts, t.expiry_ts
                ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
            ) = 2 AS _scd_one_current,
        ROW_NUMBER() OVER (PARTITION BY t.customer_no, t.effective_ts ORDER BY t.effective_ts, t.expiry_ts)
            = 2
            AS _scd_unique_start
    FROM judged AS t
    WINDOW by_key AS (PARTITION BY t.customer_no ORDER BY t.effective_ts, t.expiry_ts)
)
SELECT
    p.check_name,
    COUNT(*) AS broken_rows,
    MIN(TO_JSON(STRUCT(t.customer_no, CAST(t.effective_ts AS STRING) AS effective_ts))) AS sample
FROM neighbours AS t
    LATERAL VIEW STACK(7,
        -- at most one open version per key.
        'one_current', _scd_one_current,
        -- no version begins before the one before it has ended.
        'no_overlap', _scd_next IS NOT NULL AND (_scd_to IS NULL OR _scd_next < _scd_to),
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
