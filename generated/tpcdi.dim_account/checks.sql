-- tpcdi.dim_account: Accounts, with a version for each version of their customer and broker
-- Integrity checks: a row for each check that the table breaks; no row means that all hold.
-- Generated from specs/tpcdi/dim_account.yml. To change it, edit the spec and run `scdgen generate`.

WITH judged AS (
    -- Each row by itself. What a window carries is computed before it.
    SELECT
        *,
        NULLIF(t.end_date, DATE '9999-12-31') <= t.effective_date
            OR t.end_date IS NULL
            OR t.end_date > DATE '9999-12-31'
            OR t.effective_date >= DATE '9999-12-31'
            AS _scd_end_after_start,
        t.is_current IS DISTINCT FROM (t.end_date = DATE '9999-12-31') AS _scd_flag_matches_end,
        t.account_id IS NULL OR t.effective_date IS NULL AS _scd_key_not_null,
        NULLIF(t.end_date, DATE '9999-12-31') AS _scd_to
    FROM tpcdi.dim_account AS t
),
neighbours AS (
    -- Each row with the next of its key, and whether it is the second where there should be one.
    SELECT
        *,
        LEAD(t.effective_date) OVER by_key AS _scd_next,
        (t.end_date = DATE '9999-12-31')
            AND COUNT_IF(t.end_date = DATE '9999-12-31') OVER (
                PARTITION BY t.account_id
                ORDER BY t.effective_date, t.end_date
                ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
            ) = 2 AS _scd_one_current,
        ROW_NUMBER() OVER (PARTITION BY t.account_id, t.effective_date ORDER BY t.effective_date, t.end_date)
            = 2
            AS _scd_unique_start,
        ROW_NUMBER() OVER (PARTITION BY t.sk_account_id ORDER BY t.effective_date, t.end_date)
            = 2
            AS _scd_unique_surrogate_key
    FROM judged AS t
    WINDOW by_key AS (PARTITION BY t.account_id ORDER BY t.effective_date, t.end_date)
)
SELECT p.check_name, COUNT(*) AS broken_rows, MIN(TO_JSON(STRUCT(t.account_id, t.effective_date))) AS sample
FROM neighbours AS t
    LATERAL VIEW STACK(7,
        -- at most one open version per key.
        'one_current', _scd_one_current,
        -- no version begins before the one before it has ended.
        'no_overlap', _scd_next IS NOT NULL AND (_scd_to IS NULL OR _scd_next < _scd_to),
        -- no two versions of a key begin at one time.
        'unique_start', _scd_unique_start,
        -- no two versions have one surrogate key.
        'unique_surrogate_key', _scd_unique_surrogate_key,
        -- a version ends after it begins.
        'end_after_start', _scd_end_after_start,
        -- the flag agrees with the end.
        'flag_matches_end', _scd_flag_matches_end,
        -- no key and no start is NULL.
        'key_not_null', _scd_key_not_null
    ) p AS check_name, is_broken
WHERE p.is_broken
GROUP BY p.check_name
UNION ALL
-- a version lies within the version of the parent whose surrogate key it has.
SELECT 'parent_covers', COUNT(*), MIN(TO_JSON(STRUCT(t.account_id, t.effective_date)))
FROM (
    SELECT *
    FROM tpcdi.dim_account AS t
    WHERE (
        t.sk_broker_id IS NOT NULL
            AND NOT EXISTS (
                SELECT *
                FROM (
                    SELECT
                        sk_broker_id AS _scd_key,
                        CAST(effective_date AS DATE) AS _scd_from,
                        NULLIF(LEAST(CAST(end_date AS DATE), DATE '9999-12-31'), DATE '9999-12-31') AS _scd_to
                    FROM tpcdi.dim_broker
                ) AS p
                WHERE p._scd_key = t.sk_broker_id
                    AND p._scd_from <= t.effective_date
                    AND (p._scd_to IS NULL OR NULLIF(t.end_date, DATE '9999-12-31') <= p._scd_to)
            )
            OR t.sk_customer_id IS NOT NULL
                AND NOT EXISTS (
                    SELECT *
                    FROM (
                        SELECT
                            sk_customer_id AS _scd_key,
                            CAST(effective_date AS DATE) AS _scd_from,
                            NULLIF(LEAST(CAST(end_date AS DATE), DATE '9999-12-31'), DATE '9999-12-31') AS _scd_to
                        FROM tpcdi.dim_customer
                    ) AS p
                    WHERE p._scd_key = t.sk_customer_id
                        AND p._scd_from <= t.effective_date
                        AND (p._scd_to IS NULL OR NULLIF(t.end_date, DATE '9999-12-31') <= p._scd_to)
                )
    )
) AS t
HAVING COUNT(*) > 0;
