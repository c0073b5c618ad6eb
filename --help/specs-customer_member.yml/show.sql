SELECT
    id, segment, customer_sk, valid_from, valid_to, is_current, is_inferred
FROM crm.customer_member AS t
WHERE t.id = CAST('1' AS INT)
    AND t.valid_to IS NULL
ORDER BY id, valid_from