-- r.t53: it's \ number 53 -- of */ many
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The open versions.
CREATE OR REPLACE VIEW r.t53_now AS
SELECT
    id, a, b, c, the_surrogate_key, begins, ends, current_flag, the_action, is_deleted
FROM r.t53 AS t
WHERE t.current_flag = 'Y'
    AND NOT t.is_deleted;

-- The versions valid at a time: SELECT * FROM r.t53_at(1).
CREATE OR REPLACE FUNCTION r.t53_at (at BIGINT)
RETURNS TABLE
RETURN
SELECT
    id, a, b, c, the_surrogate_key, begins, ends, current_flag, the_action, is_deleted
FROM r.t53 AS t
WHERE t.begins <= at
    AND (t.current_flag = 'Y' OR t.ends > at)
    AND NOT t.is_deleted;

-- Every version, and what the other versions of its key say.
CREATE OR REPLACE VIEW r.t53_all AS
SELECT
    t.id, t.a, t.b, t.c, t.the_surrogate_key, t.begins, t.ends, t.current_flag, t.the_action, t.is_deleted,
    (LAST_VALUE(_scd_previous_a) IGNORE NULLS OVER by_key).a AS previous_of_a,
    MAX(_scd_since_b) OVER by_key AS since_of_b,
    (LAST_VALUE(_scd_previous_b) IGNORE NULLS OVER by_key).b AS previous_of_b
FROM (
    -- Each version that begins a run of one value has its start, or the value before it.
    SELECT
        t.*,
        CASE
            WHEN LAG(STRUCT(t.a)) OVER by_key <=> STRUCT(t.a) THEN NULL
            ELSE STRUCT(LAG(t.a) OVER by_key AS a)
        END AS _scd_previous_a,
        CASE
            WHEN LAG(STRUCT(t.b, CASE WHEN NOT (t.current_flag = 'Y') THEN t.ends END AS _scd_at)) OVER by_key
                <=> STRUCT(t.b, t.begins AS _scd_at)
                THEN NULL
            ELSE t.begins
        END AS _scd_since_b,
        CASE
            WHEN LAG(STRUCT(t.b)) OVER by_key <=> STRUCT(t.b) THEN NULL
            ELSE STRUCT(LAG(t.b) OVER by_key AS b)
        END AS _scd_previous_b
    FROM r.t53 AS t
    WHERE NOT t.is_deleted
    WINDOW by_key AS (PARTITION BY t.id ORDER BY t.begins)
) AS t
WINDOW
    by_key AS (PARTITION BY t.id ORDER BY t.begins);
