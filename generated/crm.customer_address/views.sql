-- crm.customer_address: One row per address of a customer
-- Views of the table.
-- Generated from specs/customer_address.yml. To change it, edit the spec and run `scdgen generate`.

-- The open versions; one may start in the future.
CREATE OR REPLACE VIEW crm.customer_address_current AS
SELECT id, name, address, start_date, end_date, is_current
FROM crm.customer_address AS t
WHERE t.is_current;

-- The versions valid at a time: SELECT * FROM crm.customer_address_as_of(DATE '2024-01-01').
CREATE OR REPLACE FUNCTION crm.customer_address_as_of (at DATE)
RETURNS TABLE
RETURN
SELECT id, name, address, start_date, end_date, is_current
FROM crm.customer_address AS t
WHERE t.start_date <= at AND (t.end_date IS NULL OR t.end_date > at);
