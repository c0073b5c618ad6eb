WITH c AS (
    -- The versions of raw.customer, which decide which keys exist, and when.
    SELECT
        *,
        CAST(id AS INT) AS _scd_key_1,
        CAST(area AS STRING) AS _scd_key_2,
        CAST(valid_from AS DATE) AS _scd_from,
        CAST(valid_to AS DATE) AS _scd_until
    FROM raw.customer
),
a AS (
    -- The versions of raw.address.
    SELECT
        *,
        CAST(customer_id AS INT) AS _scd_key_1,
        CAST(region AS STRING) AS _scd_key_2,
        CAST(valid_from AS DATE) AS _scd_from,
        NULLIF(LEAST(CAST(valid_to AS DATE), DATE '2999-12-31'), DATE '2999-12-31') AS _scd_until
    FROM raw.address
),
other AS (
    -- The versions of raw.other.
    SELECT
        *,
        CAST(id AS INT) AS _scd_key_1,
        CAST(`r g` AS STRING) AS _scd_key_2,
        CAST(valid_from AS DATE) AS _scd_from,
        CAST(valid_to AS DATE) AS _scd_until
    FROM raw.other
),
periods AS (
    -- The key and the period of each of these versions.
    SELECT 'c' AS _scd_table, _scd_key_1, _scd_key_2, _scd_from, _scd_until
    FROM c
    UNION ALL
    SELECT 'a' AS _scd_table, _scd_key_1, _scd_key_2, _scd_from, _scd_until
    FROM a
    UNION ALL
    SELECT 'other' AS _scd_table, _scd_key_1, _scd_key_2, _scd_from, _scd_until
    FROM other
),
changed AS (
    -- The keys of which a version starts or ends at this time or later; all keys if it is NULL.
    SELECT DISTINCT _scd_key_1, _scd_key_2
    FROM periods
    WHERE
        CAST(current_date() - 3 AS DATE) IS NULL
        OR _scd_from >= CAST(current_date() - 3 AS DATE)
        OR _scd_until >= CAST(current_date() - 3 AS DATE)
),
boundaries AS (
    -- Each start and each end is a boundary.
    SELECT DISTINCT id, region, _scd_at
    FROM periods AS p
    LEFT SEMI JOIN changed AS c
        ON p._scd_key_1 <=> c._scd_key_1 AND p._scd_key_2 <=> c._scd_key_2
        LATERAL VIEW STACK(
            2, _scd_key_1, _scd_key_2, _scd_from, _scd_key_1, _scd_key_2, _scd_until
        ) b AS id, region, _scd_at
    WHERE
        _scd_at IS NOT NULL
),
spans AS (
    -- From each boundary of a key to the next: no version of any table starts or ends in between.
    SELECT id, region, _scd_at, LEAD(_scd_at) OVER (PARTITION BY id, region ORDER BY _scd_at) AS _scd_until
    FROM boundaries
),
incoming AS (
    SELECT
        spans.id,
        spans.region,
        CAST(c.name AS STRING) AS name,
        CAST(a.town AS STRING) AS city,
        CAST(c.id % 3 AS INT) AS bucket,
        spans._scd_at,
        spans._scd_until
    FROM spans
    INNER JOIN c
        ON spans.id = c._scd_key_1
            AND spans.region = c._scd_key_2
            AND spans._scd_at >= c._scd_from
            AND (c._scd_until IS NULL OR spans._scd_at < c._scd_until)
    LEFT JOIN a
        ON spans.id = a._scd_key_1
            AND spans.region = a._scd_key_2
            AND spans._scd_at >= a._scd_from
            AND (a._scd_until IS NULL OR spans._scd_at < a._scd_until)
    LEFT JOIN other
        ON spans.id = other._scd_key_1
            AND spans.region = other._scd_key_2
            AND spans._scd_at >= other._scd_from
            AND (other._scd_until IS NULL OR spans._scd_at < other._scd_until)
    WHERE (c.a = 1 OR a.b
  = 2)
)
SELECT * FROM incoming