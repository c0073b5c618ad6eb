-- crm.customer
-- Facts, each once, with the version of their key.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The version that was valid at the time of the fact. NULL if there is none.
CREATE OR REPLACE VIEW sales.f AS
SELECT
    f.*,
    d._scd_value_1 AS name,
    d._scd_value_2 AS city
FROM raw.f AS f
LEFT JOIN (
    WITH neighbours AS (
        -- A version continues the one before it if both are equal and nothing lies between them.
        SELECT
            t.*,
            NOT (
                LAG(STRUCT(t.city, NULLIF(t.valid_to, TIMESTAMP '9999-12-31') AS _scd_at)) OVER by_key
                    <=> STRUCT(t.city, t.valid_from AS _scd_at)
            ) AS _scd_opens
        FROM crm.customer AS t
        WINDOW by_key AS (PARTITION BY t.id, t.region ORDER BY t.valid_from)
    ),
    runs AS (
        -- Equal neighbours share a number.
        SELECT
            *,
            COUNT_IF(_scd_opens) OVER (PARTITION BY id, region ORDER BY valid_from) AS _scd_run
        FROM neighbours
    ),
    folded AS (
        -- One version of each number: the first start, the last end.
        SELECT
            r.id, r.region,
            MAX_BY(r.name, r.valid_from) AS name,
            MAX_BY(r.city, r.valid_from) AS city,
            MIN_BY(r.bucket, r.valid_from) AS bucket,
            MIN_BY(r.valid_from, r.valid_from) AS valid_from,
            MAX_BY(r.valid_to, r.valid_from) AS valid_to,
            MAX_BY(r.flag, r.valid_from) AS flag,
            MAX_BY(r.hash, r.valid_from) AS hash
        FROM runs AS r
        GROUP BY r.id, r.region, _scd_run
    )
    SELECT
        t.id AS _scd_key_1,
        t.region AS _scd_key_2,
        t.valid_from AS _scd_from,
        NULLIF(t.valid_to, TIMESTAMP '9999-12-31') AS _scd_until,
        t.name AS _scd_value_1,
        t.city AS _scd_value_2
    FROM folded AS t
) AS d
    ON d._scd_key_1 = customer
        AND d._scd_key_2 = area
        AND d._scd_from <= CAST(t AS TIMESTAMP)
        AND (d._scd_until IS NULL OR d._scd_until > CAST(t AS TIMESTAMP));
