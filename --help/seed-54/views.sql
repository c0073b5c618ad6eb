-- r.t54: it's \ number 54 -- of */ many
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- Every version, and what the other versions of its key say.
CREATE OR REPLACE VIEW r.t54_all AS
SELECT
    t.id, t.region, t.a, t.b, t.c, t.the_surrogate_key, t.begins, t.ends, t.is_current, t.is_deleted,
    FIRST_VALUE(t.a) OVER by_key AS first_of_a,
    MAX(_scd_since_a) OVER by_key AS since_of_a
FROM (
    -- Each version that begins a run of one value has its start, or the value before it.
    SELECT
        t.*,
        CASE
            WHEN LAG(STRUCT(
                t.a, NULLIF(t.ends, TIMESTAMP '9999-12-31 23:59:59.999') + INTERVAL '1' DAY AS _scd_at
            )) OVER by_key
                <=> STRUCT(t.a, t.begins AS _scd_at)
                THEN NULL
            ELSE t.begins
        END AS _scd_since_a
    FROM r.t54 AS t
    WHERE NOT t.is_deleted
    WINDOW by_key AS (PARTITION BY t.id, t.region ORDER BY t.begins)
) AS t
WINDOW
    by_key AS (PARTITION BY t.id, t.region ORDER BY t.begins);
