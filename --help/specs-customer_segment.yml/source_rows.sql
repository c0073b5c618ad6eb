WITH incoming AS (
    SELECT
        CAST(id AS INT) AS id,
        CAST(name AS STRING) AS name,
        CAST(segment AS STRING) AS segment,
        CAST(changed_at AS TIMESTAMP) AS _scd_at,
        COALESCE(op = 'D', FALSE) AS _scd_deleted
    FROM crm.customer_segment_changes
)
SELECT * FROM incoming