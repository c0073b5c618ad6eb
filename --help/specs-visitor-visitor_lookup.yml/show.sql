SELECT
    visitor_cookie_id, user_id, start_day, vcid_first_two, valid_start_date, valid_end_date, is_current
FROM web.visitor_lookup AS t
WHERE t.visitor_cookie_id = CAST('1' AS STRING)
    AND t.is_current
ORDER BY visitor_cookie_id, valid_start_date