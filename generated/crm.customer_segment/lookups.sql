-- crm.customer_segment: Customers by segment, with the first, previous and current segment next to each version
-- Facts, each once, with the version of their key.
-- Generated from specs/customer_segment.yml. To change it, edit the spec and run `scdgen generate`.

-- The version that was valid at the time of the fact. NULL if none is found.
-- A string matches only if it is written exactly as the key: '01' does not match 1.
CREATE OR REPLACE VIEW sales.orders_as_was AS
SELECT
    f.*,
    d._scd_value_1 AS customer_sk,
    d._scd_value_2 AS customer_segment
FROM sales.orders AS f
LEFT JOIN (
    SELECT
        t.id AS _scd_key_1,
        t.valid_from AS _scd_from,
        t.valid_to AS _scd_until,
        t.customer_sk AS _scd_value_1,
        t.segment AS _scd_value_2
    FROM crm.customer_segment AS t
) AS d
    ON d._scd_key_1 = CASE
            WHEN TYPEOF(customer_id) = 'string' THEN TRY_CAST(customer_id AS INT)
            ELSE customer_id
        END
        AND (TYPEOF(customer_id) <> 'string' OR customer_id = CAST(d._scd_key_1 AS STRING))
        AND d._scd_from <= CAST(ordered_at AS TIMESTAMP)
        AND (d._scd_until IS NULL OR d._scd_until > CAST(ordered_at AS TIMESTAMP));

-- The open version of the key. NULL if none is found.
-- A string matches only if it is written exactly as the key: '01' does not match 1.
CREATE OR REPLACE VIEW sales.orders_as_is AS
SELECT
    f.*,
    d._scd_value_1 AS customer_segment
FROM sales.orders AS f
LEFT JOIN (
    SELECT
        t.id AS _scd_key_1,
        t.segment AS _scd_value_1
    FROM crm.customer_segment AS t
    WHERE t.valid_to IS NULL
) AS d
    ON d._scd_key_1 = CASE
            WHEN TYPEOF(customer_id) = 'string' THEN TRY_CAST(customer_id AS INT)
            ELSE customer_id
        END
        AND (TYPEOF(customer_id) <> 'string' OR customer_id = CAST(d._scd_key_1 AS STRING));
