-- crm.customer
-- Facts, each once, with the version of their key.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The version that was valid at the time of the fact; before the first, that one. NULL if there is none.
CREATE OR REPLACE VIEW sales.f AS
SELECT
    f.*,
    d._scd_value_1 AS who
FROM raw.f AS f
LEFT JOIN (
    SELECT
        t.id AS _scd_key_1,
        t.region AS _scd_key_2,
        CASE WHEN LAG(t.valid_from) OVER by_key IS NOT NULL THEN t.valid_from END AS _scd_from,
        t.valid_to AS _scd_until,
        t.name AS _scd_value_1
    FROM crm.customer AS t
    WINDOW by_key AS (PARTITION BY t.id, t.region ORDER BY t.valid_from)
) AS d
    ON d._scd_key_1 = (a + 1)
        AND d._scd_key_2 = area
        AND COALESCE(d._scd_from <= CAST(t + 1 AS BIGINT), CAST(t + 1 AS BIGINT) IS NOT NULL)
        AND (d._scd_until IS NULL OR d._scd_until > CAST(t + 1 AS BIGINT));
