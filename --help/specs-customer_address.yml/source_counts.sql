WITH incoming AS (
    SELECT
        CAST(id AS INT) AS id,
        CAST(name AS STRING) AS name,
        CAST(address AS STRING) AS address,
        CAST(start_date AS DATE) AS _scd_at
    FROM crm.customer_changes
)
SELECT COUNT(*), 0 FROM incoming