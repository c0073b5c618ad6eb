-- shop.product_price: The newest price of each product (type 1)
-- Integrity checks: a row for each check that the table breaks; no row means that all hold.
-- Generated from specs/product_price.yml. To change it, edit the spec and run `scdgen generate`.

WITH judged AS (
    -- Each row by itself.
    SELECT *, t.product_id IS NULL AS _scd_key_not_null FROM shop.product_price AS t
),
neighbours AS (
    -- Each row, and whether it is the second where there should be one.
    SELECT *, ROW_NUMBER() OVER (PARTITION BY t.product_id ORDER BY t.product_id) = 2 AS _scd_unique_key
    FROM judged AS t
)
SELECT p.check_name, COUNT(*) AS broken_rows, MIN(TO_JSON(STRUCT(t.product_id))) AS sample
FROM neighbours AS t
    LATERAL VIEW STACK(2,
        -- one row per key.
        'unique_key', _scd_unique_key,
        -- no key is NULL.
        'key_not_null', _scd_key_not_null
    ) p AS check_name, is_broken
WHERE p.is_broken
GROUP BY p.check_name;
