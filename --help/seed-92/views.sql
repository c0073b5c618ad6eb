-- r.t92
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The open versions.
CREATE OR REPLACE VIEW r.t92_now AS
SELECT
    id, a, b, c, begins, ends, is_current, the_action
FROM r.t92 AS t
WHERE t.ends = DATE '9999-12-31';

-- The versions valid at a time: SELECT * FROM r.t92_at(DATE '2024-01-01').
CREATE OR REPLACE FUNCTION r.t92_at (at DATE)
RETURNS TABLE
RETURN
SELECT
    id, a, b, c, begins, ends, is_current, the_action
FROM r.t92 AS t
WHERE t.begins <= at
    AND t.ends > at - INTERVAL '1' DAY;

-- Every version, and what the other versions of its key say.
CREATE OR REPLACE VIEW r.t92_all AS
SELECT
    t.id, t.a, t.b, t.c, t.begins, t.ends, t.is_current, t.the_action,
    LAST_VALUE(CASE WHEN t.ends = DATE '9999-12-31' THEN t.a END) OVER whole_key AS current_of_a,
    LAST_VALUE(CASE WHEN t.ends = DATE '9999-12-31' THEN t.b END) OVER whole_key AS current_of_b,
    MAX(_scd_since_b) OVER by_key AS since_of_b
FROM (
    -- Each version that begins a run of one value has its start, or the value before it.
    SELECT
        t.*,
        CASE
            WHEN LAG(STRUCT(t.b, NULLIF(t.ends, DATE '9999-12-31') + INTERVAL '1' DAY AS _scd_at)) OVER by_key
                <=> STRUCT(t.b, t.begins AS _scd_at)
                THEN NULL
            ELSE t.begins
        END AS _scd_since_b
    FROM r.t92 AS t
    WINDOW by_key AS (PARTITION BY t.id ORDER BY t.begins)
) AS t
WINDOW
    by_key AS (PARTITION BY t.id ORDER BY t.begins),
    whole_key AS (PARTITION BY t.id ORDER BY t.begins ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING);
