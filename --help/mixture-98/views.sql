-- crm.customer
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The versions valid at a time: SELECT * FROM crm.customer_at(DATE '2024-01-01').
CREATE OR REPLACE FUNCTION crm.customer_at (at DATE)
RETURNS TABLE
RETURN
SELECT
    id, region, name, city, bucket, begins, valid_to, flag, what
FROM crm.customer AS t
WHERE t.begins <= at
    AND (t.valid_to IS NULL OR t.valid_to > at);
