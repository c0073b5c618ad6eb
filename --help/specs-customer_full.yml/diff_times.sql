SELECT
    _scd_change,
    CASE WHEN _scd_new IS NULL THEN _scd_end ELSE _scd_start END AS _scd_since,
    _scd_old,
    _scd_new
FROM (
    SELECT
        *,
        CASE
            WHEN _scd_old IS NULL AND _scd_new IS NULL THEN NULL
            WHEN _scd_old IS NULL THEN IF(_scd_known, 'returned', 'new')
            WHEN _scd_new IS NULL THEN 'deleted'
            WHEN NOT (STRUCT(_scd_old.customer_no, _scd_old.name)
                <=> STRUCT(_scd_new.customer_no, _scd_new.name)) THEN 'changed'
        END AS _scd_change
    FROM (
        -- One row per key: the values at the two times, and the start and end of the last version by then.
        SELECT
            t.customer_no,
            MAX_BY(STRUCT(t.customer_no, t.name), t.effective_ts) FILTER (WHERE t.effective_ts <= CAST('2024-01-01' AS TIMESTAMP) AND t.expiry_ts > CAST('2024-01-01' AS TIMESTAMP) - INTERVAL '1' MILLISECOND) AS _scd_old,
            MAX_BY(STRUCT(t.customer_no, t.name), t.effective_ts) FILTER (WHERE t.effective_ts <= CAST('2024-02-01' AS TIMESTAMP) AND t.expiry_ts > CAST('2024-02-01' AS TIMESTAMP) - INTERVAL '1' MILLISECOND) AS _scd_new,
            COUNT_IF(t.effective_ts <= CAST('2024-01-01' AS TIMESTAMP)) > 0 AS _scd_known,
            MAX(t.effective_ts) FILTER (WHERE t.effective_ts <= CAST('2024-02-01' AS TIMESTAMP)) AS _scd_start,
            MAX(NULLIF(t.expiry_ts, TIMESTAMP '9999-12-31 23:59:59.999') + INTERVAL '1' MILLISECOND) FILTER (WHERE t.effective_ts <= CAST('2024-02-01' AS TIMESTAMP)) AS _scd_end
        FROM crm.customer_full AS t
        GROUP BY t.customer_no
    )
)
WHERE _scd_change IS NOT NULL
ORDER BY customer_no