-- r.t168
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The open versions.
CREATE OR REPLACE VIEW r.t168_now AS
SELECT
    id, region, a, b, c, begins, ends, is_current
FROM r.t168 AS t
WHERE t.ends = 9999999999;

-- The versions valid at a time: SELECT * FROM r.t168_at(1).
CREATE OR REPLACE FUNCTION r.t168_at (at BIGINT)
RETURNS TABLE
RETURN
SELECT
    id, region, a, b, c, begins, ends, is_current
FROM r.t168 AS t
WHERE t.begins <= at
    AND t.ends > at;

-- Every version, and what the other versions of its key say.
CREATE OR REPLACE VIEW r.t168_all AS
SELECT
    t.id, t.region, t.a, t.b, t.c, t.begins, t.ends, t.is_current,
    FIRST_VALUE(t.b) OVER by_key AS first_of_b,
    FIRST_VALUE(t.a) OVER by_key AS first_of_a,
    (LAST_VALUE(_scd_previous_b) IGNORE NULLS OVER by_key).b AS previous_of_b
FROM (
    -- Each version that begins a run of one value has its start, or the value before it.
    SELECT
        t.*,
        CASE
            WHEN LAG(STRUCT(t.b)) OVER by_key <=> STRUCT(t.b) THEN NULL
            ELSE STRUCT(LAG(t.b) OVER by_key AS b)
        END AS _scd_previous_b
    FROM r.t168 AS t
    WINDOW by_key AS (PARTITION BY t.id, t.region ORDER BY t.begins)
) AS t
WINDOW
    by_key AS (PARTITION BY t.id, t.region ORDER BY t.begins);
