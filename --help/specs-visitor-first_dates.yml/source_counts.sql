WITH incoming AS (
    SELECT
        CAST(visitorCookieId AS STRING) AS visitor_cookie_id,
        CAST(landed AS TIMESTAMP) AS first_date,
        CAST(date_format(landed, 'yyyy-MM-dd') AS STRING) AS first_day,
        CAST(substring(visitorCookieId, 1, 2) AS STRING) AS vcid_first_two
    FROM web.page_views
)
SELECT COUNT(*), 0 FROM incoming