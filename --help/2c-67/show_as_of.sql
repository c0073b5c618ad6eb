WITH neighbours AS (
    -- A version continues the one before it if both are equal and nothing lies between them.
    SELECT
        t.*,
        NOT (
            LAG(STRUCT(t.name, t.city, t.bucket, t.valid_to AS _scd_at)) OVER by_key
                <=> STRUCT(t.name, t.city, t.bucket, t.valid_from AS _scd_at)
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
        MAX_BY(r.bucket, r.valid_from) AS bucket,
        MIN_BY(r.valid_from, r.valid_from) AS valid_from,
        MAX_BY(r.valid_to, r.valid_from) AS valid_to,
        MAX_BY(r.is_current, r.valid_from) AS is_current
    FROM runs AS r
    GROUP BY r.id, r.region, _scd_run
)
SELECT
    id, region, name, city, bucket, valid_from, valid_to, is_current
FROM folded AS t
WHERE t.valid_from <= CAST('2024-01-01' AS TIMESTAMP)
    AND (t.valid_to IS NULL OR t.valid_to > CAST('2024-01-01' AS TIMESTAMP))
ORDER BY id, region, valid_from