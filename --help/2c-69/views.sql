-- crm.customer
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The versions valid at a time: SELECT * FROM crm.customer_at(TIMESTAMP '2024-01-01').
CREATE OR REPLACE FUNCTION crm.customer_at (at TIMESTAMP)
RETURNS TABLE
RETURN
SELECT
    id, region, name, city, bucket, valid_from, valid_to, is_current
FROM crm.customer AS t
WHERE t.valid_from <= at
    AND (t.valid_to IS NULL OR t.valid_to > at);
