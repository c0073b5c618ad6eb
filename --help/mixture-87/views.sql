-- crm.customer: What {they} are: it's "so"
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The open versions.
CREATE OR REPLACE VIEW crm.customer_now AS
SELECT
    id, region, name, city, bucket, begins, until, is_current
FROM crm.customer AS t
WHERE t.until IS NULL;

-- The versions valid at a time: SELECT * FROM crm.customer_at(TIMESTAMP '2024-01-01').
CREATE OR REPLACE FUNCTION crm.customer_at (at TIMESTAMP)
RETURNS TABLE
RETURN
SELECT
    id, region, name, city, bucket, begins, until, is_current
FROM crm.customer AS t
WHERE t.begins <= at
    AND (t.until IS NULL OR t.until > at);
