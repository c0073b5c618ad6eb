-- r.t214
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The open versions.
CREATE OR REPLACE VIEW r.t214_now AS
SELECT
    id, region, a, b, c, the_surrogate_key, begins, ends, current_flag, the_row_hash
FROM r.t214 AS t
WHERE t.current_flag = 'Y';

-- The versions valid at a time: SELECT * FROM r.t214_at(1).
CREATE OR REPLACE FUNCTION r.t214_at (at BIGINT)
RETURNS TABLE
RETURN
SELECT
    id, region, a, b, c, the_surrogate_key, begins, ends, current_flag, the_row_hash
FROM r.t214 AS t
WHERE t.begins <= at
    AND (t.current_flag = 'Y' OR t.ends > at - 10);

-- Every version, and what the other versions of its key say.
CREATE OR REPLACE VIEW r.t214_all AS
SELECT
    t.id, t.region, t.a, t.b, t.c, t.the_surrogate_key, t.begins, t.ends, t.current_flag, t.the_row_hash,
    (LAST_VALUE(_scd_previous_b) IGNORE NULLS OVER by_key).b AS previous_of_b
FROM (
    -- Each version that begins a run of one value has its start, or the value before it.
    SELECT
        t.*,
        CASE
            WHEN LAG(STRUCT(t.b)) OVER by_key <=> STRUCT(t.b) THEN NULL
            ELSE STRUCT(LAG(t.b) OVER by_key AS b)
        END AS _scd_previous_b
    FROM r.t214 AS t
    WINDOW by_key AS (PARTITION BY t.id, t.region ORDER BY t.begins)
) AS t
WINDOW
    by_key AS (PARTITION BY t.id, t.region ORDER BY t.begins);
