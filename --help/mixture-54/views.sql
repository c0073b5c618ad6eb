-- crm.customer
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- Every version, and what the other versions of its key say.
CREATE OR REPLACE VIEW crm.customer_all AS
SELECT
    t.id, t.region, t.name, t.city, t.bucket, t.version_key, t.valid_from, t.ends, t.flag,
    (LAST_VALUE(_scd_previous_name) IGNORE NULLS OVER by_key).name AS old_name,
    LAST_VALUE(CASE WHEN t.ends IS NULL THEN t.name END) OVER whole_key AS name_now,
    MAX(_scd_since_name) OVER by_key AS since
FROM (
    -- Each version that begins a run of one value has its start, or the value before it.
    SELECT
        t.*,
        CASE
            WHEN LAG(STRUCT(lower(trim(t.name)) AS name)) OVER by_key
                <=> STRUCT(lower(trim(t.name)) AS name)
                THEN NULL
            ELSE STRUCT(LAG(t.name) OVER by_key AS name)
        END AS _scd_previous_name,
        CASE
            WHEN LAG(STRUCT(lower(trim(t.name)) AS name, t.ends AS _scd_at)) OVER by_key
                <=> STRUCT(lower(trim(t.name)) AS name, t.valid_from AS _scd_at)
                THEN NULL
            ELSE t.valid_from
        END AS _scd_since_name
    FROM crm.customer AS t
    WINDOW by_key AS (PARTITION BY t.id, t.region ORDER BY t.valid_from)
) AS t
WINDOW
    by_key AS (PARTITION BY t.id, t.region ORDER BY t.valid_from),
    whole_key AS (PARTITION BY t.id, t.region ORDER BY t.valid_from ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING);
