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
            WHEN NOT (STRUCT(_scd_old.visitor_cookie_id, _scd_old.user_id, _scd_old.vcid_first_two)
                <=> STRUCT(_scd_new.visitor_cookie_id, _scd_new.user_id, _scd_new.vcid_first_two)) THEN 'changed'
        END AS _scd_change
    FROM (
        -- One row per key: the values at the two times, and the start and end of the last version by then.
        SELECT
            t.visitor_cookie_id,
            MAX_BY(STRUCT(t.visitor_cookie_id, t.user_id, t.vcid_first_two), t.valid_start_date) FILTER (WHERE t.valid_start_date <= CAST('2024-01-01' AS TIMESTAMP) AND (t.valid_end_date IS NULL OR t.valid_end_date > CAST('2024-01-01' AS TIMESTAMP) - INTERVAL '1' MICROSECOND)) AS _scd_old,
            MAX_BY(STRUCT(t.visitor_cookie_id, t.user_id, t.vcid_first_two), t.valid_start_date) FILTER (WHERE t.valid_start_date <= CAST('2024-02-01' AS TIMESTAMP) AND (t.valid_end_date IS NULL OR t.valid_end_date > CAST('2024-02-01' AS TIMESTAMP) - INTERVAL '1' MICROSECOND)) AS _scd_new,
            COUNT_IF(t.valid_start_date <= CAST('2024-01-01' AS TIMESTAMP)) > 0 AS _scd_known,
            MAX(t.valid_start_date) FILTER (WHERE t.valid_start_date <= CAST('2024-02-01' AS TIMESTAMP)) AS _scd_start,
            MAX(t.valid_end_date + INTERVAL '1' MICROSECOND) FILTER (WHERE t.valid_start_date <= CAST('2024-02-01' AS TIMESTAMP)) AS _scd_end
        FROM web.user_mapping AS t
        GROUP BY t.visitor_cookie_id
    )
)
WHERE _scd_change IS NOT NULL
ORDER BY visitor_cookie_id