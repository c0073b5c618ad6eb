SELECT
    visitor_cookie_id, user_id, vcid_first_two, valid_start_date, valid_end_date, is_current
FROM web.user_mapping AS t
WHERE t.visitor_cookie_id = CAST('1' AS STRING)
    AND t.valid_end_date IS NULL
ORDER BY visitor_cookie_id, valid_start_date