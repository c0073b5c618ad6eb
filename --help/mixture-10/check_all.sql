WITH judged AS (
    -- Each row by itself. What a window carries is computed before it.
    SELECT
        *,
        t.id IS NULL
            OR t.region IS NULL AS _scd_key_not_null
    FROM crm.customer AS t
),
neighbours AS (
    -- Each row with the next of its key, and whether it is the second where there should be one.
    SELECT
        *,
        ROW_NUMBER() OVER (PARTITION BY t.id, t.region ORDER BY t.id) = 2 AS _scd_unique_key
    FROM judged AS t
)
SELECT
    COUNT_IF(_scd_unique_key) AS unique_key,
    COUNT_IF(_scd_key_not_null) AS key_not_null
FROM neighbours