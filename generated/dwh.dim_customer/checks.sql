-- dwh.dim_customer: Customer dimension; a change of address or date of birth opens a version, a change of name does not
-- Integrity checks: a row for each check that the table breaks; no row means that all hold. The checks of the spec
-- follow, each with the rows that break it.
-- Generated from specs/dim_design.yml. To change it, edit the spec and run `scdgen generate`.

WITH judged AS (
    -- Each row by itself. What a window carries is computed before it.
    SELECT
        *,
        NULLIF(t.end_date, DATE '9999-12-31') + INTERVAL '1' DAY <= t.start_date
            OR t.end_date IS NULL
            OR t.end_date > DATE '9999-12-31'
            OR t.start_date >= DATE '9999-12-31'
            AS _scd_end_after_start,
        t.current_flag
            IS DISTINCT FROM CASE WHEN t.end_date = DATE '9999-12-31' THEN 'Y' ELSE 'N' END
            AS _scd_flag_matches_end,
        t.region IS NULL OR t.customer_no IS NULL OR t.start_date IS NULL AS _scd_key_not_null,
        t.row_hash IS DISTINCT FROM SHA2(
            TO_JSON(STRUCT(address, CAST(birth_date AS STRING) AS birth_date), MAP('ignoreNullFields', 'true')), 256
        ) AS _scd_hash_matches,
        NULLIF(t.end_date, DATE '9999-12-31') + INTERVAL '1' DAY AS _scd_to,
        STRUCT(t.address, t.birth_date) AS _scd_state
    FROM dwh.dim_customer AS t
),
neighbours AS (
    -- Each row with the next of its key, and whether it is the second where there should be one.
    SELECT
        *,
        LEAD(t.start_date) OVER by_key AS _scd_next,
        LEAD(t._scd_state) OVER by_key IS NOT DISTINCT FROM t._scd_state AS _scd_same,
        (t.end_date = DATE '9999-12-31')
            AND COUNT_IF(t.end_date = DATE '9999-12-31') OVER (
                PARTITION BY t.region, t.customer_no
                ORDER BY t.start_date, t.end_date
                ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
            ) = 2 AS _scd_one_current,
        ROW_NUMBER() OVER (PARTITION BY t.region, t.customer_no, t.start_date ORDER BY t.start_date, t.end_date)
            = 2
            AS _scd_unique_start
    FROM judged AS t
    WINDOW by_key AS (PARTITION BY t.region, t.customer_no ORDER BY t.start_date, t.end_date)
)
SELECT p.check_name, COUNT(*) AS broken_rows, MIN(TO_JSON(STRUCT(t.region, t.customer_no, t.start_date))) AS sample
FROM neighbours AS t
    LATERAL VIEW STACK(9,
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
        'key_not_null', _scd_key_not_null,
        -- the stored hash is that of the tracked columns.
        'hash_matches', _scd_hash_matches
    ) p AS check_name, is_broken
WHERE p.is_broken
GROUP BY p.check_name;

-- birth_before_start: a check of the spec, whose query returns the rows that break it; at most a hundred of them.
SELECT *
FROM (SELECT * FROM dwh.dim_customer WHERE birth_date > start_date)
LIMIT 100;
