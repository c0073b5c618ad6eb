-- crm.customer_member: A row per version of a customer, and one per customer that only orders name so far
-- Facts, each once, with the version of their key.
-- Generated from specs/customer_member.yml. To change it, edit the spec and run `scdgen generate`.

-- The version that was valid at the time of the fact. The unknown member if none is found.
CREATE OR REPLACE VIEW sales.orders_with_member AS
SELECT
    f.*,
    IF(d.id IS NULL, u.customer_sk, d.customer_sk) AS customer_sk,
    IF(d.id IS NULL, u.segment, d.segment) AS customer_segment
FROM sales.orders AS f
LEFT JOIN crm.customer_member AS d
    ON d.id = f.customer_id AND d.valid_from <= f.ordered_at AND (d.valid_to IS NULL OR d.valid_to > f.ordered_at)
CROSS JOIN (
    -- The unknown member, in one row even if it is missing.
    SELECT ANY_VALUE(t.customer_sk) AS customer_sk, ANY_VALUE(t.segment) AS segment
    FROM crm.customer_member AS t
    WHERE t.id = -1
) AS u;
