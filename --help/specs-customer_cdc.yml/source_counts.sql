WITH incoming AS (
    SELECT
        CAST(company AS STRING) AS company,
        CAST(customer_no AS STRING) AS customer_no,
        CAST(name AS STRING) AS name,
        CAST(city AS STRING) AS city,
        CAST(changed_at AS TIMESTAMP) AS _scd_at,
        COALESCE(op = 'D', FALSE) AS _scd_deleted,
        lsn AS _scd_sequence_1
    FROM crm.customer_feed
)
SELECT COUNT(*), 0 FROM incoming