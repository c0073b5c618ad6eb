SELECT
    visitor_cookie_id, user_id, vcid_first_two, valid_start_date, valid_end_date, is_current
FROM web.user_mapping AS t
WHERE t.valid_start_date <= CAST('2024-01-01' AS TIMESTAMP)
    AND (t.valid_end_date IS NULL OR t.valid_end_date > CAST('2024-01-01' AS TIMESTAMP) - INTERVAL '1' MICROSECOND)
ORDER BY visitor_cookie_id, valid_start_date