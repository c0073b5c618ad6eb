-- crm.customer_cdc: Customers, from a change feed with deletes; an update comes as a delete and an insert of one time
-- Views of the table.
-- Generated from specs/customer_cdc.yml. To change it, edit the spec and run `scdgen generate`.

-- A session with other times stops here: what is created below would keep them.
SELECT CASE
    WHEN TYPEOF(CAST(NULL AS TIMESTAMP)) <> 'timestamp'
        THEN RAISE_ERROR('[SCDGEN_SETTINGS] crm.customer_cdc: needs TIMESTAMP_LTZ')
END;

-- The open versions; one may start in the future.
CREATE OR REPLACE VIEW crm.customer_cdc_current AS
SELECT company, customer_no, name, city, valid_from, valid_to, is_current, action, lsn
FROM crm.customer_cdc AS t
WHERE t.is_current;

-- The versions valid at a time: SELECT * FROM crm.customer_cdc_as_of(TIMESTAMP '2024-01-01').
CREATE OR REPLACE FUNCTION crm.customer_cdc_as_of (at TIMESTAMP)
RETURNS TABLE
RETURN
SELECT company, customer_no, name, city, valid_from, valid_to, is_current, action, lsn
FROM crm.customer_cdc AS t
WHERE t.valid_from <= at AND (t.valid_to IS NULL OR t.valid_to > at);
