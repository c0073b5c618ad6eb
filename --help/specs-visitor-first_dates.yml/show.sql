SELECT
    visitor_cookie_id, first_date, first_day, vcid_first_two
FROM web.first_dates AS t
WHERE t.visitor_cookie_id = CAST('1' AS STRING)
ORDER BY visitor_cookie_id