SELECT
    customer_id, channel, campaign, contacted_at
FROM crm.first_contact AS t
WHERE t.customer_id = CAST('1' AS INT)
ORDER BY customer_id