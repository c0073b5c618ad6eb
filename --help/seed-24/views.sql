-- r.t24: it's \ number 24 -- of */ many
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- Every version, and what the other versions of its key say.
CREATE OR REPLACE VIEW r.t24_all AS
SELECT
    t.id, t.region, t.a, t.b, t.c, t.bucket, t.begins, t.ends, t.current_flag, t.is_deleted,
    MAX(_scd_since_a) OVER by_key AS since_of_a,
    MAX(_scd_since_b) OVER by_key AS since_of_b
FROM (
    -- Each version that begins a run of one value has its start, or the value before it.
    SELECT
        t.*,
        CASE
            WHEN LAG(STRUCT(t.a, NULLIF(t.ends, 9999999999) + 1 AS _scd_at)) OVER by_key
                <=> STRUCT(t.a, t.begins AS _scd_at)
                THEN NULL
            ELSE t.begins
        END AS _scd_since_a,
        CASE
            WHEN LAG(STRUCT(t.b, NULLIF(t.ends, 9999999999) + 1 AS _scd_at)) OVER by_key
                <=> STRUCT(t.b, t.begins AS _scd_at)
                THEN NULL
            ELSE t.begins
        END AS _scd_since_b
    FROM r.t24 AS t
    WHERE NOT t.is_deleted
    WINDOW by_key AS (PARTITION BY t.id, t.region ORDER BY t.begins)
) AS t
WINDOW
    by_key AS (PARTITION BY t.id, t.region ORDER BY t.begins);
