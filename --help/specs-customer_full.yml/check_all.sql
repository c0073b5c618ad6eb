WITH judged AS (
    -- Each row by itself. What a window carries is computed before it.
    SELECT
        *,
        NULLIF(t.expiry_ts, TIMESTAMP '9999-12-31 23:59:59.999') + INTERVAL '1' MILLISECOND <= t.effective_ts
            OR t.expiry_ts IS NULL
            OR t.expiry_ts > TIMESTAMP '9999-12-31 23:59:59.999'
            OR t.effective_ts >= TIMESTAMP '9999-12-31 23:59:59.999' AS _scd_end_after_start,
        NOT (t.is_current <=> CASE WHEN t.expiry_ts = TIMESTAMP '9999-12-31 23:59:59.999' THEN 1 ELSE 0 END) AS _scd_flag_matches_end,
        t.customer_no IS NULL
            OR t.effective_ts IS NULL AS _scd_key_not_null,
        NULLIF(t.expiry_ts, TIMESTAMP '9999-12-31 23:59:59.999') + INTERVAL '1' MILLISECOND AS _scd_until,
        STRUCT(t.name) AS _scd_state
    FROM crm.customer_full AS t
),
neighbours AS (
    -- Each row with the next of its key, and whether it is the second where there should be one.
    SELECT
        *,
        LEAD(t.effective_ts) OVER by_key AS _scd_next,
        LEAD(t._scd_state) OVER by_key <=> t._scd_state AS _scd_same,
        (t.expiry_ts = TIMESTAMP '9999-12-31 23:59:59.999') AND COUNT_IF(t.expiry_ts = TIMESTAMP '9999-12-31 23:59:59.999') OVER (PARTITION BY t.customer_no ORDER BY t.effective_ts, t.expiry_ts ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) = 2 AS _scd_one_current,
        ROW_NUMBER() OVER (PARTITION BY t.customer_no, t.effective_ts ORDER BY t.effective_ts, t.expiry_ts) = 2 AS _scd_unique_start
    FROM judged AS t
    WINDOW by_key AS (PARTITION BY t.customer_no ORDER BY t.effective_ts, t.expiry_ts)
)
SELECT
    COUNT_IF(_scd_one_current) AS one_current,
    COUNT_IF(_scd_next IS NOT NULL AND (_scd_until IS NULL OR _scd_next < _scd_until)) AS no_overlap,
    COUNT_IF(_scd_unique_start) AS unique_start,
    COUNT_IF(_scd_end_after_start) AS end_after_start,
    COUNT_IF(_scd_next = _scd_until AND _scd_same) AS no_repeat,
    COUNT_IF(_scd_flag_matches_end) AS flag_matches_end,
    COUNT_IF(_scd_key_not_null) AS key_not_null
FROM neighbours