-- r.t130
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The open versions.
CREATE OR REPLACE VIEW r.t130_now AS
SELECT
    id, a, b, c, begins, ends, current_flag
FROM r.t130 AS t
WHERE t.current_flag = 'Y';

-- The versions valid at a time: SELECT * FROM r.t130_at(1).
CREATE OR REPLACE FUNCTION r.t130_at (at BIGINT)
RETURNS TABLE
RETURN
SELECT
    id, a, b, c, begins, ends, current_flag
FROM r.t130 AS t
WHERE t.begins <= at
    AND (t.current_flag = 'Y' OR t.ends > at - 1);

-- Every version, and what the other versions of its key say.
CREATE OR REPLACE VIEW r.t130_all AS
SELECT
    t.id, t.a, t.b, t.c, t.begins, t.ends, t.current_flag,
    (LAST_VALUE(_scd_previous_a) IGNORE NULLS OVER by_key).a AS previous_of_a,
    FIRST_VALUE(t.a) OVER by_key AS first_of_a,
    MAX(_scd_since_a) OVER by_key AS since_of_a
FROM (
    -- Each version that begins a run of one value has its start, or the value before it.
    SELECT
        t.*,
        CASE
            WHEN LAG(STRUCT(t.a)) OVER by_key <=> STRUCT(t.a) THEN NULL
            ELSE STRUCT(LAG(t.a) OVER by_key AS a)
        END AS _scd_previous_a,
        CASE
            WHEN LAG(STRUCT(t.a, CASE WHEN NOT (t.current_flag = 'Y') THEN t.ends + 1 END AS _scd_at)) OVER by_key
                <=> STRUCT(t.a, t.begins AS _scd_at)
                THEN NULL
            ELSE t.begins
        END AS _scd_since_a
    FROM r.t130 AS t
    WINDOW by_key AS (PARTITION BY t.id ORDER BY t.begins)
) AS t
WINDOW
    by_key AS (PARTITION BY t.id ORDER BY t.begins);
