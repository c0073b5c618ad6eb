WITH judged AS (
    -- Each row by itself. What a window carries is computed before it.
    SELECT
        *,
        t.valid_to <= t.valid_from AS _scd_end_after_start,
        NOT (t.is_current <=> (t.valid_to IS NULL)) AS _scd_flag_matches_end,
        t.id IS NULL
            OR t.region IS NULL
            OR t.valid_from IS NULL AS _scd_key_not_null,
        t.valid_to AS _scd_until,
        STRUCT(lower(trim(t.name)) AS name, t.city, t.bucket) AS _scd_state
    FROM crm.customer AS t
),
neighbours AS (
    -- Each row with the next of its key, and whether it is the second where there should be one.
    SELECT
        *,
        LEAD(t.valid_from) OVER by_key AS _scd_next,
        LEAD(t._scd_state) OVER by_key <=> t._scd_state AS _scd_same,
        (t.valid_to IS NULL) AND COUNT_IF(t.valid_to IS NULL) OVER (PARTITION BY t.id, t.region ORDER BY t.valid_from, t.valid_to ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) = 2 AS _scd_one_current,
        ROW_NUMBER() OVER (PARTITION BY t.id, t.region, t.valid_from ORDER BY t.valid_from, t.valid_to) = 2 AS _scd_unique_start
    FROM judged AS t
    WINDOW by_key AS (PARTITION BY t.id, t.region ORDER BY t.valid_from, t.valid_to)
)
SELECT
    COUNT_IF(_scd_one_current) AS one_current,
    COUNT_IF(_scd_next IS NOT NULL AND (_scd_until IS NULL OR _scd_next < _scd_until)) AS no_overlap,
    COUNT_IF(_scd_until IS NOT NULL AND (_scd_next IS NULL OR _scd_until < _scd_next)) AS contiguous,
    COUNT_IF(_scd_unique_start) AS unique_start,
    COUNT_IF(_scd_end_after_start) AS end_after_start,
    COUNT_IF(_scd_next = _scd_until AND _scd_same) AS no_repeat,
    COUNT_IF(_scd_flag_matches_end) AS flag_matches_end,
    COUNT_IF(_scd_key_not_null) AS key_not_null
FROM neighbours