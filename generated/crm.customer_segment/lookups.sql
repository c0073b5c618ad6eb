-- crm.customer_segment: Customers by segment, with the first, previous and current segment in a view
-- Facts, each once, with the version of their key.
-- Generated from specs/customer_segment.yml. To change it, edit the spec and run `scdgen generate`.

-- The version that was valid at the time of the fact. NULL if none is found.
CREATE OR REPLACE VIEW sales.orders_as_was AS
SELECT f.*, d.customer_sk, d.segment AS customer_segment
FROM sales.orders AS f
LEFT JOIN crm.customer_segment AS d
    ON d.id = f.customer_id AND d.valid_from <= f.ordered_at AND (d.valid_to IS NULL OR d.valid_to > f.ordered_at);

-- The open version of the key. NULL if none is found.
CREATE OR REPLACE VIEW sales.orders_as_is AS
SELECT f.*, d.segment AS customer_segment
FROM sales.orders AS f
LEFT JOIN crm.customer_segment AS d ON d.id = f.customer_id AND d.is_current;
