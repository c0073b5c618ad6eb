SELECT
    id, segment, customer_sk, valid_from, valid_to, is_current, is_inferred
FROM crm.customer_member AS t
WHERE t.valid_from <= CAST('2024-01-01' AS TIMESTAMP)
    AND (t.valid_to IS NULL OR t.valid_to > CAST('2024-01-01' AS TIMESTAMP))
ORDER BY id, valid_from