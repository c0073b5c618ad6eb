WITH judged AS (
    -- Each row by itself. What a window carries is computed before it.
    SELECT
        *,
        t.order_id IS NULL AS _scd_key_not_null
    FROM retail.orders AS t
),
neighbours AS (
    -- Each row with the next of its key, and whether it is the second where there should be one.
    SELECT
        *,
        ROW_NUMBER() OVER (PARTITION BY t.order_id ORDER BY t.order_id) = 2 AS _scd_unique_key
    FROM judged AS t
)
SELECT
    COUNT_IF(_scd_unique_key) AS unique_key,
    COUNT_IF(_scd_key_not_null) AS key_not_null
FROM neighbours