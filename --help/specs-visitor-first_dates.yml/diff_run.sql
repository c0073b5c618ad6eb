SELECT
    _scd_change,
    _scd_old,
    _scd_new
FROM (
    SELECT
        COALESCE(o.visitor_cookie_id, n.visitor_cookie_id) AS visitor_cookie_id,
        CASE
            WHEN o._scd_row IS NULL THEN 'new'
            WHEN n._scd_row IS NULL THEN 'deleted'
            WHEN NOT (o._scd_state <=> n._scd_state) THEN 'changed'
        END AS _scd_change,
        o._scd_row AS _scd_old,
        n._scd_row AS _scd_new
    FROM (
        SELECT
            t.visitor_cookie_id,
            STRUCT(
                t.visitor_cookie_id, t.first_date, t.first_day, CAST(NULL AS STRING) AS vcid_first_two
            ) AS _scd_state,
            STRUCT(
                t.visitor_cookie_id, t.first_date, t.first_day, CAST(NULL AS STRING) AS vcid_first_two
            ) AS _scd_row
        FROM web.first_dates VERSION AS OF 3 AS t
        WHERE t.visitor_cookie_id = CAST('1' AS STRING)
    ) AS o
    FULL OUTER JOIN (
        SELECT
            t.visitor_cookie_id,
            STRUCT(t.visitor_cookie_id, t.first_date, t.first_day, t.vcid_first_two) AS _scd_state,
            STRUCT(t.visitor_cookie_id, t.first_date, t.first_day, t.vcid_first_two) AS _scd_row
        FROM web.first_dates VERSION AS OF 4 AS t
        WHERE t.visitor_cookie_id = CAST('1' AS STRING)
    ) AS n
        ON o.visitor_cookie_id <=> n.visitor_cookie_id
)
WHERE _scd_change IS NOT NULL
ORDER BY visitor_cookie_id