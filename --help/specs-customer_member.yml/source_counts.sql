WITH incoming AS (
    SELECT
        CAST(id AS INT) AS id,
        CAST(segment AS STRING) AS segment,
        CAST(changed_at AS TIMESTAMP) AS _scd_at,
        COALESCE(op = 'D', FALSE) AS _scd_deleted
    FROM crm.customer_changes
)
SELECT COUNT(*), 0 FROM incoming