-- dwh.dim_customer: Customer dimension; a change of address or date of birth opens a version, a change of name does not
-- Views of the table.
-- Generated from specs/dim_design.yml. To change it, edit the spec and run `scdgen generate`.

-- The open versions; one may start in the future.
CREATE OR REPLACE VIEW dwh.customer AS
SELECT region, customer_no, name, address, birth_date, customer_sk, start_date, end_date, current_flag, row_hash
FROM dwh.dim_customer AS t
WHERE t.end_date = DATE '9999-12-31';

-- The versions valid at a time: SELECT * FROM dwh.customer_as_of(DATE '2024-01-01').
CREATE OR REPLACE FUNCTION dwh.customer_as_of (at DATE)
RETURNS TABLE
RETURN
SELECT region, customer_no, name, address, birth_date, customer_sk, start_date, end_date, current_flag, row_hash
FROM dwh.dim_customer AS t
WHERE t.start_date <= at AND t.end_date > at - INTERVAL '1' DAY;
