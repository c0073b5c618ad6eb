WITH incoming AS (
    SELECT
        CAST(customer_id AS INT) AS customer_id,
        CAST(channel AS STRING) AS channel,
        CAST(campaign AS STRING) AS campaign,
        CAST(contacted_at AS TIMESTAMP) AS contacted_at,
        CAST(contacted_at AS TIMESTAMP) AS _scd_at,
        contact_id AS _scd_sequence_1
    FROM crm.contacts
)
SELECT * FROM incoming