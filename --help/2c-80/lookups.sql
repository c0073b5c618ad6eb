-- crm.customer
-- Facts, each once, with the version of their key.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The open version of the key. NULL if there is none.
CREATE OR REPLACE VIEW sales.f AS
SELECT
    f.*,
    d._scd_value_1 AS since
FROM (
    SELECT * FROM raw.f
) AS f
LEFT JOIN (
    SELECT
        t.id AS _scd_key_1,
        t.region AS _scd_key_2,
        t.valid_from AS _scd_value_1
    FROM crm.customer AS t
    WHERE t.valid_to IS NULL
) AS d
    ON d._scd_key_1 = customer AND d._scd_key_2 = area;
