-- crm.customer
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The open versions.
CREATE OR REPLACE VIEW crm.customer_now AS
SELECT
    id, region, name, city, bucket, valid_from, valid_to, is_current
FROM crm.customer AS t
WHERE t.valid_to IS NULL;
