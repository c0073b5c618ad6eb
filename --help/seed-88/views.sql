-- r.t88
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The open versions.
CREATE OR REPLACE VIEW r.t88_now AS
SELECT
    id, a, b, c, the_surrogate_key, begins, ends, current_flag
FROM r.t88 AS t
WHERE t.current_flag = 'Y';

-- The versions valid at a time: SELECT * FROM r.t88_at(DATE '2024-01-01').
CREATE OR REPLACE FUNCTION r.t88_at (at DATE)
RETURNS TABLE
RETURN
SELECT
    id, a, b, c, the_surrogate_key, begins, ends, current_flag
FROM r.t88 AS t
WHERE t.begins <= at
    AND (t.current_flag = 'Y' OR t.ends > at);

-- Every version, and what the other versions of its key say.
CREATE OR REPLACE VIEW r.t88_all AS
SELECT
    t.id, t.a, t.b, t.c, t.the_surrogate_key, t.begins, t.ends, t.current_flag,
    FIRST_VALUE(t.b) OVER by_key AS first_of_b,
    (LAST_VALUE(_scd_previous_a) IGNORE NULLS OVER by_key).a AS previous_of_a
FROM (
    -- Each version that begins a run of one value has its start, or the value before it.
    SELECT
        t.*,
        CASE
            WHEN LAG(STRUCT(coalesce(t.a, '') AS a)) OVER by_key
                <=> STRUCT(coalesce(t.a, '') AS a)
                THEN NULL
            ELSE STRUCT(LAG(t.a) OVER by_key AS a)
        END AS _scd_previous_a
    FROM r.t88 AS t
    WINDOW by_key AS (PARTITION BY t.id ORDER BY t.begins)
) AS t
WINDOW
    by_key AS (PARTITION BY t.id ORDER BY t.begins);
