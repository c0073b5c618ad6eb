-- retail.dim_customer: A row per version of a customer with segment and address, for reports on orders
-- Facts, each once, with the version of their key.
-- Generated from specs/sales/dim_customer.yml. To change it, edit the spec and run `scdgen generate`.

-- The version that was valid at the time of the fact; before the first, that one. The unknown member if none is found.
CREATE OR REPLACE VIEW retail.orders_as_was AS
SELECT
    f.*,
    IF(d.customer_id IS NULL, u.customer_sk, d.customer_sk) AS customer_sk,
    IF(d.customer_id IS NULL, u.segment, d.segment) AS segment,
    IF(d.customer_id IS NULL, u.city, d.city) AS city
FROM retail.orders AS f
LEFT JOIN (
    -- The start of the first version of each key.
    SELECT t.customer_id, MIN(t.valid_from) AS _scd_first
    FROM retail.dim_customer AS t
    GROUP BY t.customer_id
) AS b
    ON b.customer_id = f.customer_id
LEFT JOIN retail.dim_customer AS d
    ON d.customer_id = f.customer_id
        AND d.valid_from <= IF(f.ordered_at < b._scd_first, b._scd_first, f.ordered_at)
        AND (d.valid_to IS NULL OR d.valid_to > f.ordered_at)
CROSS JOIN (
    -- The unknown member, in one row even if it is missing.
    SELECT
        ANY_VALUE(t.customer_sk) AS customer_sk,
        ANY_VALUE(t.segment) AS segment,
        ANY_VALUE(t.city) AS city
    FROM retail.dim_customer AS t
    WHERE t.customer_id = -1
) AS u;

-- The open version of the key. The unknown member if none is found.
CREATE OR REPLACE VIEW retail.orders_as_is AS
SELECT
    f.*,
    IF(d.customer_id IS NULL, u.customer_sk, d.customer_sk) AS customer_sk,
    IF(d.customer_id IS NULL, u.segment, d.segment) AS segment,
    IF(d.customer_id IS NULL, u.city, d.city) AS city
FROM retail.orders AS f
LEFT JOIN retail.dim_customer AS d ON d.customer_id = f.customer_id AND d.is_current
CROSS JOIN (
    -- The unknown member, in one row even if it is missing.
    SELECT
        ANY_VALUE(t.customer_sk) AS customer_sk,
        ANY_VALUE(t.segment) AS segment,
        ANY_VALUE(t.city) AS city
    FROM retail.dim_customer AS t
    WHERE t.customer_id = -1
) AS u;
