WITH neighbours AS (
    -- A version continues the one before it if both are equal and nothing lies between them.
    SELECT
        t.*,
        NOT (
            LAG(STRUCT(t.city, NULLIF(t.valid_to, TIMESTAMP '9999-12-31') AS _scd_at)) OVER by_key
                <=> STRUCT(t.city, t.valid_from AS _scd_at)
        ) AS _scd_opens
    FROM crm.customer AS t
    WINDOW by_key AS (PARTITION BY t.id, t.region ORDER BY t.valid_from)
),
runs AS (
    -- Equal neighbours share a number.
    SELECT
        *,
        COUNT_IF(_scd_opens) OVER (PARTITION BY id, region ORDER BY valid_from) AS _scd_run
    FROM neighbours
),
folded AS (
    -- One version of each number: the first start, the last end.
    SELECT
        r.id, r.region,
        MAX_BY(r.name, r.valid_from) AS name,
        MAX_BY(r.city, r.valid_from) AS city,
        MIN_BY(r.bucket, r.valid_from) AS bucket,
        MIN_BY(r.valid_from, r.valid_from) AS valid_from,
        MAX_BY(r.valid_to, r.valid_from) AS valid_to,
        MAX_BY(r.flag, r.valid_from) AS flag,
        MAX_BY(r.hash, r.valid_from) AS hash
    FROM runs AS r
    GROUP BY r.id, r.region, _scd_run
)
SELECT
    _scd_change,
    CASE WHEN _scd_new IS NULL THEN _scd_end ELSE _scd_start END AS _scd_since,
    _scd_old,
    _scd_new
FROM (
    SELECT
        *,
        CASE
            WHEN _scd_old IS NULL AND _scd_new IS NULL THEN NULL
            WHEN _scd_old IS NULL THEN IF(_scd_known, 'returned', 'new')
            WHEN _scd_new IS NULL THEN 'deleted'
            WHEN NOT (STRUCT(_scd_old.id, _scd_old.region, _scd_old.name, _scd_old.city, _scd_old.bucket)
                <=> STRUCT(_scd_new.id, _scd_new.region, _scd_new.name, _scd_new.city, _scd_new.bucket)) THEN 'changed'
        END AS _scd_change
    FROM (
        -- One row per key: the values at the two times, and the start and end of the last version by then.
        SELECT
            t.id, t.region,
            MAX_BY(STRUCT(t.id, t.region, t.name, t.city, t.bucket), t.valid_from) FILTER (WHERE t.valid_from <= CAST('2024-01-01' AS TIMESTAMP) AND t.valid_to > CAST('2024-01-01' AS TIMESTAMP)) AS _scd_old,
            MAX_BY(STRUCT(t.id, t.region, t.name, t.city, t.bucket), t.valid_from) FILTER (WHERE t.valid_from <= CAST('2024-02-01' AS TIMESTAMP) AND t.valid_to > CAST('2024-02-01' AS TIMESTAMP)) AS _scd_new,
            COUNT_IF(t.valid_from <= CAST('2024-01-01' AS TIMESTAMP)) > 0 AS _scd_known,
            MAX(t.valid_from) FILTER (WHERE t.valid_from <= CAST('2024-02-01' AS TIMESTAMP)) AS _scd_start,
            MAX(NULLIF(t.valid_to, TIMESTAMP '9999-12-31')) FILTER (WHERE t.valid_from <= CAST('2024-02-01' AS TIMESTAMP)) AS _scd_end
        FROM folded AS t
        GROUP BY t.id, t.region
    )
)
WHERE _scd_change IS NOT NULL
ORDER BY id, region