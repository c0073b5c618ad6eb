-- r.t273: it's \ number 273 -- of */ many
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The open versions.
CREATE OR REPLACE VIEW r.t273_now AS
SELECT
    id, region, a, b, c, begins, ends, is_current, is_deleted
FROM r.t273 AS t
WHERE t.is_current = 1
    AND NOT t.is_deleted;

-- The versions valid at a time: SELECT * FROM r.t273_at(TIMESTAMP '2024-01-01').
CREATE OR REPLACE FUNCTION r.t273_at (at TIMESTAMP)
RETURNS TABLE
RETURN
SELECT
    id, region, a, b, c, begins, ends, is_current, is_deleted
FROM r.t273 AS t
WHERE t.begins <= at
    AND (t.is_current = 1 OR t.ends > at - INTERVAL '1' MICROSECOND)
    AND NOT t.is_deleted;

-- Every version, and what the other versions of its key say.
CREATE OR REPLACE VIEW r.t273_all AS
SELECT
    t.id, t.region, t.a, t.b, t.c, t.begins, t.ends, t.is_current, t.is_deleted,
    MAX(_scd_since_b) OVER by_key AS since_of_b,
    LAST_VALUE(CASE WHEN t.is_current = 1 THEN t.b END) OVER whole_key AS current_of_b,
    (LAST_VALUE(_scd_previous_a) IGNORE NULLS OVER by_key).a AS previous_of_a,
    (LAST_VALUE(_scd_previous_b) IGNORE NULLS OVER by_key).b AS previous_of_b,
    FIRST_VALUE(t.a) OVER by_key AS first_of_a,
    FIRST_VALUE(t.b) OVER by_key AS first_of_b
FROM (
    -- Each version that begins a run of one value has its start, or the value before it.
    SELECT
        t.*,
        CASE
            WHEN LAG(STRUCT(
                least(t.b, 1) AS b,
                CASE WHEN NOT (t.is_current = 1) THEN t.ends + INTERVAL '1' MICROSECOND END AS _scd_at
            )) OVER by_key
                <=> STRUCT(least(t.b, 1) AS b, t.begins AS _scd_at)
                THEN NULL
            ELSE t.begins
        END AS _scd_since_b,
        CASE
            WHEN LAG(STRUCT(t.a)) OVER by_key <=> STRUCT(t.a) THEN NULL
            ELSE STRUCT(LAG(t.a) OVER by_key AS a)
        END AS _scd_previous_a,
        CASE
            WHEN LAG(STRUCT(least(t.b, 1) AS b)) OVER by_key <=> STRUCT(least(t.b, 1) AS b) THEN NULL
            ELSE STRUCT(LAG(t.b) OVER by_key AS b)
        END AS _scd_previous_b
    FROM r.t273 AS t
    WHERE NOT t.is_deleted
    WINDOW by_key AS (PARTITION BY t.id, t.region ORDER BY t.begins)
) AS t
WINDOW
    by_key AS (PARTITION BY t.id, t.region ORDER BY t.begins),
    whole_key AS (PARTITION BY t.id, t.region ORDER BY t.begins ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING);
