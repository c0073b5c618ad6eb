-- crm.customer_member: A row per version of a customer, and of those that only orders name so far
-- Facts, each once, with the version of their key.
-- Generated from specs/customer_member.yml. To change it, edit the spec and run `scdgen generate`.

-- The version that was valid at the time of the fact. The unknown member if none is found.
-- A string matches only if it is written exactly as the key: '01' does not match 1.
CREATE OR REPLACE VIEW sales.orders_with_member AS
SELECT
    f.*,
    CASE
        WHEN d._scd_key_1 IS NULL THEN (SELECT t.customer_sk FROM crm.customer_member AS t WHERE id = -1)
        ELSE d._scd_value_1
    END AS customer_sk,
    CASE
        WHEN d._scd_key_1 IS NULL THEN (SELECT t.segment FROM crm.customer_member AS t WHERE id = -1)
        ELSE d._scd_value_2
    END AS customer_segment
FROM sales.orders AS f
LEFT JOIN (
    SELECT
        t.id AS _scd_key_1,
        t.valid_from AS _scd_from,
        t.valid_to AS _scd_until,
        t.customer_sk AS _scd_value_1,
        t.segment AS _scd_value_2
    FROM crm.customer_member AS t
) AS d
    ON d._scd_key_1 = CASE
            WHEN TYPEOF(customer_id) = 'string' THEN TRY_CAST(customer_id AS INT)
            ELSE customer_id
        END
        AND (TYPEOF(customer_id) <> 'string' OR customer_id = CAST(d._scd_key_1 AS STRING))
        AND d._scd_from <= CAST(ordered_at AS TIMESTAMP)
        AND (d._scd_until IS NULL OR d._scd_until > CAST(ordered_at AS TIMESTAMP));
