WITH source AS (SELECT visitor_cookie_id, user_id, valid_start_date AS seen_at
FROM web.user_mapping
UNION ALL
SELECT visitor_cookie_id, CAST(NULL AS BIGINT), first_date
FROM web.first_dates),
incoming AS (
    SELECT
        CAST(visitor_cookie_id AS STRING) AS visitor_cookie_id,
        CAST(user_id AS BIGINT) AS user_id,
        CAST(substring(visitor_cookie_id, 1, 2) AS STRING) AS vcid_first_two,
        CAST(seen_at AS TIMESTAMP) AS _scd_at,
        user_id AS _scd_sequence_1
    FROM source
    WHERE seen_at >= session.since
)
SELECT * FROM incoming