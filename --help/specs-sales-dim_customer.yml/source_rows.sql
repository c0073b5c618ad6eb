WITH customer AS (
    -- The versions of retail.customer, which decide which keys exist, and when.
    SELECT
        *,
        CAST(customer_id AS INT) AS _scd_key_1,
        CAST(valid_from AS TIMESTAMP) AS _scd_from,
        CAST(valid_to AS TIMESTAMP) AS _scd_until
    FROM retail.customer
),
address AS (
    -- The versions of retail.customer_address.
    SELECT
        *,
        CAST(customer_id AS INT) AS _scd_key_1,
        CAST(valid_from AS TIMESTAMP) AS _scd_from,
        CAST(valid_to AS TIMESTAMP) AS _scd_until
    FROM retail.customer_address
),
periods AS (
    -- The key and the period of each of these versions.
    SELECT 'customer' AS _scd_table, _scd_key_1, _scd_from, _scd_until
    FROM customer
    UNION ALL
    SELECT 'address' AS _scd_table, _scd_key_1, _scd_from, _scd_until
    FROM address
),
boundaries AS (
    -- Each start and each end is a boundary.
    SELECT DISTINCT customer_id, _scd_at
    FROM periods
    LATERAL VIEW STACK(2, _scd_key_1, _scd_from, _scd_key_1, _scd_until) b AS customer_id, _scd_at
    WHERE
        _scd_at IS NOT NULL
),
spans AS (
    -- From each boundary of a key to the next: no version of any table starts or ends in between.
    SELECT customer_id, _scd_at, LEAD(_scd_at) OVER (PARTITION BY customer_id ORDER BY _scd_at) AS _scd_until
    FROM boundaries
),
incoming AS (
    SELECT
        spans.customer_id,
        CAST(customer.name AS STRING) AS name,
        CAST(customer.segment AS STRING) AS segment,
        CAST(address.street AS STRING) AS street,
        CAST(address.city AS STRING) AS city,
        spans._scd_at,
        spans._scd_until
    FROM spans
    INNER JOIN customer
        ON spans.customer_id = customer._scd_key_1
            AND spans._scd_at >= customer._scd_from
            AND (customer._scd_until IS NULL OR spans._scd_at < customer._scd_until)
    LEFT JOIN address
        ON spans.customer_id = address._scd_key_1
            AND spans._scd_at >= address._scd_from
            AND (address._scd_until IS NULL OR spans._scd_at < address._scd_until)
)
SELECT * FROM incoming