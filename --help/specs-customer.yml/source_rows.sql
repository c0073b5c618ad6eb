WITH incoming AS (
    SELECT
        CAST(id AS INT) AS id,
        CAST(name AS STRING) AS name,
        CAST(address AS STRING) AS address,
        CAST(changed_at AS TIMESTAMP) AS _scd_at
    FROM crm.customer_updates
)
SELECT * FROM incoming