WITH incoming AS (
    SELECT
        CAST(product_id AS BIGINT) AS product_id,
        CAST(name AS STRING) AS name,
        CAST(price AS DECIMAL(10, 2)) AS price,
        CAST(changed_at AS TIMESTAMP) AS _scd_at,
        COALESCE(action = 'discontinued', FALSE) AS _scd_deleted,
        change_id AS _scd_sequence_1
    FROM shop.price_changes
)
SELECT COUNT(*), 0 FROM incoming