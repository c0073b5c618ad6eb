WITH customer AS (
    -- The versions of crm.customer, which decide which keys exist, and when.
    SELECT
        *,
        CAST(id AS INT) AS _scd_key_1,
        CAST(valid_from AS TIMESTAMP) AS _scd_from,
        CAST(valid_to AS TIMESTAMP) AS _scd_until
    FROM crm.customer
),
segment AS (
    -- The versions of crm.customer_segment.
    SELECT
        *,
        CAST(id AS INT) AS _scd_key_1,
        CAST(valid_from AS TIMESTAMP) AS _scd_from,
        CAST(valid_to AS TIMESTAMP) AS _scd_until
    FROM crm.customer_segment
),
periods AS (
    -- The key and the period of each of these versions.
    SELECT 'customer' AS _scd_table, _scd_key_1, _scd_from, _scd_until
    FROM customer
    UNION ALL
    SELECT 'segment' AS _scd_table, _scd_key_1, _scd_from, _scd_until
    FROM segment
),
changed AS (
    -- The keys of which a version starts or ends at this time or later; all keys if it is NULL.
    SELECT DISTINCT _scd_key_1
    FROM periods
    WHERE
        CAST(session.since AS TIMESTAMP) IS NULL
        OR _scd_from >= CAST(session.since AS TIMESTAMP)
        OR _scd_until >= CAST(session.since AS TIMESTAMP)
),
boundaries AS (
    -- Each start and each end is a boundary.
    SELECT DISTINCT id, _scd_at
    FROM periods AS p
    LEFT SEMI JOIN changed AS c
        ON p._scd_key_1 <=> c._scd_key_1
        LATERAL VIEW STACK(2, _scd_key_1, _scd_from, _scd_key_1, _scd_until) b AS id, _scd_at
    WHERE
        _scd_at IS NOT NULL
),
spans AS (
    -- From each boundary of a key to the next: no version of any table starts or ends in between.
    SELECT id, _scd_at, LEAD(_scd_at) OVER (PARTITION BY id ORDER BY _scd_at) AS _scd_until
    FROM boundaries
),
incoming AS (
    SELECT
        spans.id,
        CAST(customer.name AS STRING) AS name,
        CAST(customer.address AS STRING) AS address,
        CAST(segment.segment AS STRING) AS segment,
        spans._scd_at,
        spans._scd_until
    FROM spans
    INNER JOIN customer
        ON spans.id = customer._scd_key_1
            AND spans._scd_at >= customer._scd_from
            AND (customer._scd_until IS NULL OR spans._scd_at < customer._scd_until)
    LEFT JOIN segment
        ON spans.id = segment._scd_key_1
            AND spans._scd_at >= segment._scd_from
            AND (segment._scd_until IS NULL OR spans._scd_at < segment._scd_until)
)
SELECT * FROM incoming