-- crm.customer_full: Customers, from a full extract; a customer that is gone from it is closed
-- Views of the table.
-- Generated from specs/customer_full.yml. To change it, edit the spec and run `scdgen generate`.

-- The open versions; one may start in the future.
CREATE OR REPLACE VIEW crm.customer_full_current AS
SELECT customer_no, name, effective_ts, expiry_ts, is_current
FROM crm.customer_full AS t
WHERE t.is_current = 1;
