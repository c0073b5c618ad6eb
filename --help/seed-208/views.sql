-- r.t208: it's \ number 208 -- of */ many
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The open versions.
CREATE OR REPLACE VIEW r.t208_now AS
SELECT
    id, a, b, c, begins, ends, is_current
FROM r.t208 AS t
WHERE t.ends IS NULL;

-- The versions valid at a time: SELECT * FROM r.t208_at(DATE '2024-01-01').
CREATE OR REPLACE FUNCTION r.t208_at (at DATE)
RETURNS TABLE
RETURN
SELECT
    id, a, b, c, begins, ends, is_current
FROM r.t208 AS t
WHERE t.begins <= at
    AND (t.ends IS NULL OR t.ends > at);

-- Every version, and what the other versions of its key say.
CREATE OR REPLACE VIEW r.t208_all AS
SELECT
    t.id, t.a, t.b, t.c, t.begins, t.ends, t.is_current,
    MAX(_scd_since_a) OVER by_key AS since_of_a,
    MAX(_scd_since_b) OVER by_key AS since_of_b,
    LAST_VALUE(CASE WHEN t.ends IS NULL THEN t.a END) OVER whole_key AS current_of_a,
    FIRST_VALUE(t.b) OVER by_key AS first_of_b,
    (LAST_VALUE(_scd_previous_b) IGNORE NULLS OVER by_key).b AS previous_of_b,
    LAST_VALUE(CASE WHEN t.ends IS NULL THEN t.b END) OVER whole_key AS current_of_b
FROM (
    -- Each version that begins a run of one value has its start, or the value before it.
    SELECT
        t.*,
        CASE
            WHEN LAG(STRUCT(t.a, t.ends AS _scd_at)) OVER by_key
                <=> STRUCT(t.a, t.begins AS _scd_at)
                THEN NULL
            ELSE t.begins
        END AS _scd_since_a,
        CASE
            WHEN LAG(STRUCT(t.b, t.ends AS _scd_at)) OVER by_key
                <=> STRUCT(t.b, t.begins AS _scd_at)
                THEN NULL
            ELSE t.begins
        END AS _scd_since_b,
        CASE
            WHEN LAG(STRUCT(t.b)) OVER by_key <=> STRUCT(t.b) THEN NULL
            ELSE STRUCT(LAG(t.b) OVER by_key AS b)
        END AS _scd_previous_b
    FROM r.t208 AS t
    WINDOW by_key AS (PARTITION BY t.id ORDER BY t.begins)
) AS t
WINDOW
    by_key AS (PARTITION BY t.id ORDER BY t.begins),
    whole_key AS (PARTITION BY t.id ORDER BY t.begins ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING);
