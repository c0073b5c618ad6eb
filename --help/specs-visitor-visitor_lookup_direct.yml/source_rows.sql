WITH incoming AS (
    SELECT
        CAST(visitorCookieId AS STRING) AS visitor_cookie_id,
        CAST(userId AS BIGINT) AS user_id,
        CAST(substring(visitorCookieId, 1, 2) AS STRING) AS vcid_first_two,
        CAST(landed AS TIMESTAMP) AS _scd_at,
        userId AS _scd_sequence_1
    FROM web.page_views
)
SELECT * FROM incoming