-- crm.customer_member: A row per version of a customer, and one per customer that only orders name so far
-- Integrity checks: a row for each check that the table breaks; no row means that all hold.
-- Generated from specs/customer_member.yml. To change it, edit the spec and run `scdgen generate`.

WITH judged AS (
    -- Each row by itself. What a window carries is computed before it.
    SELECT
        *,
        t.valid_to <= t.valid_from AS _scd_end_after_start,
        t.is_current IS DISTINCT FROM (t.valid_to IS NULL) AS _scd_flag_matches_end,
        t.id IS NULL OR t.valid_from IS NULL OR t.is_inferred IS NULL AS _scd_key_not_null,
        t.valid_to AS _scd_to,
        STRUCT(t.segment) AS _scd_state
    FROM crm.customer_member AS t
),
neighbours AS (
    -- Each row with the next of its key, and whether it is the second where there should be one.
    SELECT
        *,
        LEAD(t.valid_from) OVER by_key AS _scd_next,
        LEAD(t._scd_state) OVER by_key IS NOT DISTINCT FROM t._scd_state AS _scd_same,
        (t.valid_to IS NULL)
            AND COUNT_IF(t.valid_to IS NULL) OVER (
                PARTITION BY t.id
                ORDER BY t.valid_from, t.valid_to
                ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
            ) = 2 AS _scd_one_current,
        ROW_NUMBER() OVER (PARTITION BY t.id, t.valid_from ORDER BY t.valid_from, t.valid_to) = 2 AS _scd_unique_start
    FROM judged AS t
    WINDOW by_key AS (PARTITION BY t.id ORDER BY t.valid_from, t.valid_to)
)
SELECT
    p.check_name,
    COUNT(*) AS broken_rows,
    MIN(TO_JSON(STRUCT(t.id, CAST(t.valid_from AS STRING) AS valid_from))) AS sample
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
        -- no column that every version must have is NULL.
        'key_not_null', _scd_key_not_null
    ) p AS check_name, is_broken
WHERE p.is_broken
GROUP BY p.check_name;
