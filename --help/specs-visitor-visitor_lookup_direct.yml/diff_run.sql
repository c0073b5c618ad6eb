SELECT
    _scd_change,
    valid_start_date AS _scd_since,
    _scd_old,
    _scd_new
FROM (
    SELECT
        COALESCE(o.visitor_cookie_id, n.visitor_cookie_id) AS visitor_cookie_id,
        COALESCE(o.valid_start_date, n.valid_start_date) AS valid_start_date,
        CASE
            WHEN o._scd_row IS NULL THEN 'opened'
            WHEN n._scd_row IS NULL THEN 'folded'
            WHEN NOT (o._scd_state <=> n._scd_state) THEN IF(o._scd_open AND NOT n._scd_open, 'closed', 'corrected')
        END AS _scd_change,
        o._scd_row AS _scd_old,
        n._scd_row AS _scd_new
    FROM (
        SELECT
            t.visitor_cookie_id, t.valid_start_date,
            t.is_current AS _scd_open,
            STRUCT(
                t.visitor_cookie_id, t.user_id, t.start_day, CAST(NULL AS STRING) AS vcid_first_two,
                t.valid_start_date,
                CASE WHEN NOT t.is_current THEN t.valid_end_date + INTERVAL '1' MICROSECOND END AS valid_end_date,
                t.is_current
            ) AS _scd_state,
            STRUCT(
                t.visitor_cookie_id, t.user_id, t.start_day, CAST(NULL AS STRING) AS vcid_first_two,
                t.valid_start_date, t.valid_end_date, t.is_current
            ) AS _scd_row
        FROM web.visitor_lookup_direct VERSION AS OF 3 AS t
        WHERE t.visitor_cookie_id = CAST('1' AS STRING)
    ) AS o
    FULL OUTER JOIN (
        SELECT
            t.visitor_cookie_id, t.valid_start_date,
            t.is_current AS _scd_open,
            STRUCT(
                t.visitor_cookie_id, t.user_id, t.start_day, t.vcid_first_two, t.valid_start_date,
                CASE WHEN NOT t.is_current THEN t.valid_end_date + INTERVAL '1' MICROSECOND END AS valid_end_date,
                t.is_current
            ) AS _scd_state,
            STRUCT(
                t.visitor_cookie_id, t.user_id, t.start_day, t.vcid_first_two, t.valid_start_date,
                t.valid_end_date, t.is_current
            ) AS _scd_row
        FROM web.visitor_lookup_direct VERSION AS OF 4 AS t
        WHERE t.visitor_cookie_id = CAST('1' AS STRING)
    ) AS n
        ON o.visitor_cookie_id <=> n.visitor_cookie_id AND o.valid_start_date <=> n.valid_start_date
)
WHERE _scd_change IS NOT NULL
ORDER BY visitor_cookie_id, valid_start_date