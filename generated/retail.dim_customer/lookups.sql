-- retail.dim_customer: A row per version of a customer with segment and address, for reports on orders
-- Facts, each once, with the version of their key.
-- Generated from specs/sales/dim_customer.yml. To change it, edit the spec and run `scdgen generate`.

-- The version that was valid at the time of the fact; before the first, that one. The unknown member if none is found.
-- A string matches only if it is written exactly as the key: '01' does not match 1.
CREATE OR REPLACE VIEW retail.orders_as_was AS
SELECT
    f.*,
    CASE
        WHEN d._scd_key_1 IS NULL THEN (SELECT t.customer_sk FROM retail.dim_customer AS t WHERE customer_id = -1)
        ELSE d._scd_value_1
    END AS customer_sk,
    CASE
        WHEN d._scd_key_1 IS NULL THEN (SELECT t.segment FROM retail.dim_customer AS t WHERE customer_id = -1)
        ELSE d._scd_value_2
    END AS segment,
    CASE
        WHEN d._scd_key_1 IS NULL THEN (SELECT t.city FROM retail.dim_customer AS t WHERE customer_id = -1)
        ELSE d._scd_value_3
    END AS city
FROM retail.orders AS f
LEFT JOIN (
    SELECT
        t.customer_id AS _scd_key_1,
        CASE WHEN LAG(t.valid_from) OVER by_key IS NOT NULL THEN t.valid_from END AS _scd_from,
        t.valid_to AS _scd_until,
        t.customer_sk AS _scd_value_1,
        t.segment AS _scd_value_2,
        t.city AS _scd_value_3
    FROM retail.dim_customer AS t
    WINDOW by_key AS (PARTITION BY t.customer_id ORDER BY t.valid_from)
) AS d
    ON d._scd_key_1 = CASE
            WHEN TYPEOF(customer_id) = 'string' THEN TRY_CAST(customer_id AS INT)
            ELSE customer_id
        END
        AND (TYPEOF(customer_id) <> 'string' OR customer_id = CAST(d._scd_key_1 AS STRING))
        AND COALESCE(d._scd_from <= CAST(ordered_at AS TIMESTAMP), CAST(ordered_at AS TIMESTAMP) IS NOT NULL)
        AND (d._scd_until IS NULL OR d._scd_until > CAST(ordered_at AS TIMESTAMP));

-- The open version of the key. The unknown member if none is found.
-- A string matches only if it is written exactly as the key: '01' does not match 1.
CREATE OR REPLACE VIEW retail.orders_as_is AS
SELECT
    f.*,
    CASE
        WHEN d._scd_key_1 IS NULL THEN (SELECT t.customer_sk FROM retail.dim_customer AS t WHERE customer_id = -1)
        ELSE d._scd_value_1
    END AS customer_sk,
    CASE
        WHEN d._scd_key_1 IS NULL THEN (SELECT t.segment FROM retail.dim_customer AS t WHERE customer_id = -1)
        ELSE d._scd_value_2
    END AS segment,
    CASE
        WHEN d._scd_key_1 IS NULL THEN (SELECT t.city FROM retail.dim_customer AS t WHERE customer_id = -1)
        ELSE d._scd_value_3
    END AS city
FROM retail.orders AS f
LEFT JOIN (
    SELECT
        t.customer_id AS _scd_key_1,
        t.customer_sk AS _scd_value_1,
        t.segment AS _scd_value_2,
        t.city AS _scd_value_3
    FROM retail.dim_customer AS t
    WHERE t.valid_to IS NULL
) AS d
    ON d._scd_key_1 = CASE
            WHEN TYPEOF(customer_id) = 'string' THEN TRY_CAST(customer_id AS INT)
            ELSE customer_id
        END
        AND (TYPEOF(customer_id) <> 'string' OR customer_id = CAST(d._scd_key_1 AS STRING));
