-- r.t101
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The open versions.
CREATE OR REPLACE VIEW r.t101_now AS
SELECT
    id, region, a, b, c, begins, ends, is_current, the_row_hash, the_action
FROM r.t101 AS t
WHERE t.ends = 9999999999;

-- The versions valid at a time: SELECT * FROM r.t101_at(1).
CREATE OR REPLACE FUNCTION r.t101_at (at BIGINT)
RETURNS TABLE
RETURN
SELECT
    id, region, a, b, c, begins, ends, is_current, the_row_hash, the_action
FROM r.t101 AS t
WHERE t.begins <= at
    AND t.ends > at;

-- Every version, and what the other versions of its key say.
CREATE OR REPLACE VIEW r.t101_all AS
SELECT
    t.id, t.region, t.a, t.b, t.c, t.begins, t.ends, t.is_current, t.the_row_hash, t.the_action,
    FIRST_VALUE(t.a) OVER by_key AS first_of_a,
    MAX(_scd_since_b) OVER by_key AS since_of_b,
    LAST_VALUE(CASE WHEN t.ends = 9999999999 THEN t.b END) OVER whole_key AS current_of_b,
    (LAST_VALUE(_scd_previous_a) IGNORE NULLS OVER by_key).a AS previous_of_a,
    (LAST_VALUE(_scd_previous_b) IGNORE NULLS OVER by_key).b AS previous_of_b
FROM (
    -- Each version that begins a run of one value has its start, or the value before it.
    SELECT
        t.*,
        CASE
            WHEN LAG(STRUCT(t.b, NULLIF(t.ends, 9999999999) AS _scd_at)) OVER by_key
                <=> STRUCT(t.b, t.begins AS _scd_at)
                THEN NULL
            ELSE t.begins
        END AS _scd_since_b,
        CASE
            WHEN LAG(STRUCT(t.a)) OVER by_key <=> STRUCT(t.a) THEN NULL
            ELSE STRUCT(LAG(t.a) OVER by_key AS a)
        END AS _scd_previous_a,
        CASE
            WHEN LAG(STRUCT(t.b)) OVER by_key <=> STRUCT(t.b) THEN NULL
            ELSE STRUCT(LAG(t.b) OVER by_key AS b)
        END AS _scd_previous_b
    FROM r.t101 AS t
    WINDOW by_key AS (PARTITION BY t.id, t.region ORDER BY t.begins)
) AS t
WINDOW
    by_key AS (PARTITION BY t.id, t.region ORDER BY t.begins),
    whole_key AS (PARTITION BY t.id, t.region ORDER BY t.begins ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING);
