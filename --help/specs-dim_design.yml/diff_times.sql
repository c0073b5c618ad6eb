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
            WHEN NOT (STRUCT(
                _scd_old.region, _scd_old.customer_no, _scd_old.name, _scd_old.address,
                _scd_old.birth_date
            )
                <=> STRUCT(
                    _scd_new.region, _scd_new.customer_no, _scd_new.name, _scd_new.address,
                    _scd_new.birth_date
                )) THEN 'changed'
        END AS _scd_change
    FROM (
        -- One row per key: the values at the two times, and the start and end of the last version by then.
        SELECT
            t.region, t.customer_no,
            MAX_BY(STRUCT(t.region, t.customer_no, t.name, t.address, t.birth_date), t.start_date) FILTER (WHERE t.start_date <= CAST('2024-01-01' AS DATE) AND t.end_date > CAST('2024-01-01' AS DATE) - INTERVAL '1' DAY) AS _scd_old,
            MAX_BY(STRUCT(t.region, t.customer_no, t.name, t.address, t.birth_date), t.start_date) FILTER (WHERE t.start_date <= CAST('2024-02-01' AS DATE) AND t.end_date > CAST('2024-02-01' AS DATE) - INTERVAL '1' DAY) AS _scd_new,
            COUNT_IF(t.start_date <= CAST('2024-01-01' AS DATE)) > 0 AS _scd_known,
            MAX(t.start_date) FILTER (WHERE t.start_date <= CAST('2024-02-01' AS DATE)) AS _scd_start,
            MAX(NULLIF(t.end_date, DATE '9999-12-31') + INTERVAL '1' DAY) FILTER (WHERE t.start_date <= CAST('2024-02-01' AS DATE)) AS _scd_end
        FROM dwh.dim_customer AS t
        GROUP BY t.region, t.customer_no
    )
)
WHERE _scd_change IS NOT NULL
ORDER BY region, customer_no