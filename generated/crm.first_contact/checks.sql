-- crm.first_contact: How each customer first came to us.
-- Integrity checks: each query returns the rows that break its rule; an empty result means that it holds.
-- Generated from specs/first_contact.yml. To change it, edit the spec and run `scdgen generate`.

-- unique_key: one row per key.
SELECT
    t.customer_id,
    COUNT(*) AS row_count
FROM crm.first_contact AS t
GROUP BY t.customer_id
HAVING COUNT(*) > 1;

-- key_not_null: no key is NULL.
SELECT *
FROM crm.first_contact AS t
WHERE t.customer_id IS NULL;
