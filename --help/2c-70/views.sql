-- crm.customer
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- Every version, and what the other versions of its key say.
CREATE OR REPLACE VIEW crm.customer_all AS
SELECT
    t.id, t.region, t.name, t.city, t.bucket, t.valid_from, t.valid_to, t.is_current,
    FIRST_VALUE(t.name) OVER by_key AS first_name,
    MAX(_scd_since_city) OVER by_key AS city_since
FROM (
    -- Each version that begins a run of one value has its start, or the value before it.
    SELECT
        t.*,
        CASE
            WHEN LAG(STRUCT(t.city, t.valid_to AS _scd_at)) OVER by_key
                <=> STRUCT(t.city, t.valid_from AS _scd_at)
                THEN NULL
            ELSE t.valid_from
        END AS _scd_since_city
    FROM crm.customer AS t
    WINDOW by_key AS (PARTITION BY t.id, t.region ORDER BY t.valid_from)
) AS t
WINDOW
    by_key AS (PARTITION BY t.id, t.region ORDER BY t.valid_from);
