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
    SELECT
        t.id AS _scd_key_1,
        t.region AS _scd_key_2,
        t.valid_from AS _scd_from,
        t.valid_to AS _scd_until,
        t.name AS _scd_value_1,
        t.city AS _scd_value_2
    FROM crm.customer AS t
) AS d
    ON d._scd_key_1 = customer
        AND d._scd_key_2 = area
        AND d._scd_from <= CAST(t AS TIMESTAMP)
        AND (d._scd_until IS NULL OR d._scd_until > CAST(t AS TIMESTAMP));
