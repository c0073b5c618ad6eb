-- shop.product_price: The newest price of each product (type 1)
-- Integrity checks: each query returns the rows that break its rule; an empty result means that it holds.
-- Generated from specs/product_price.yml. To change it, edit the spec and run `scdgen generate`.

-- unique_key: one row per key.
SELECT
    t.product_id,
    COUNT(*) AS row_count
FROM shop.product_price AS t
GROUP BY t.product_id
HAVING COUNT(*) > 1;

-- key_not_null: no key is NULL.
SELECT *
FROM shop.product_price AS t
WHERE t.product_id IS NULL;
