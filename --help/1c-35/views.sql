-- crm.customer
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The rows of the table.
CREATE OR REPLACE VIEW crm.customer_now AS
SELECT
    id, region, name, city, bucket
FROM crm.customer AS t;
