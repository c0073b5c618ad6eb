SELECT
    visitor_cookie_id, user_id, start_day, vcid_first_two, valid_start_date, valid_end_date, is_current
FROM web.visitor_lookup_direct AS t
WHERE t.valid_start_date <= CAST('2024-01-01' AS TIMESTAMP)
    AND (t.is_current OR t.valid_end_date > CAST('2024-01-01' AS TIMESTAMP) - INTERVAL '1' MICROSECOND)
ORDER BY visitor_cookie_id, valid_start_date