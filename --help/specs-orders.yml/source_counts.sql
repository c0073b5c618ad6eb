WITH incoming AS (
    SELECT
        CAST(id AS INT) AS order_id,
        CAST(status AS STRING) AS status,
        CAST(note AS STRING) AS note,
        CAST(dbt_valid_from AS TIMESTAMP) AS _scd_at,
        CAST(dbt_valid_to AS TIMESTAMP) AS _scd_until
    FROM snapshots.orders_snapshot
    WHERE dbt_is_deleted = 'False'
)
SELECT COUNT(*), 0 FROM incoming