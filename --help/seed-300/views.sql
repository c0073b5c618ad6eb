-- r.t300: it's \ number 300 -- of */ many
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The open versions.
CREATE OR REPLACE VIEW r.t300_now AS
SELECT
    id, region, a, b, c, the_surrogate_key, begins, ends, is_current, the_row_hash, the_action, is_deleted
FROM r.t300 AS t
WHERE t.is_current
    AND NOT t.is_deleted;

-- The versions valid at a time: SELECT * FROM r.t300_at(1).
CREATE OR REPLACE FUNCTION r.t300_at (at BIGINT)
RETURNS TABLE
RETURN
SELECT
    id, region, a, b, c, the_surrogate_key, begins, ends, is_current, the_row_hash, the_action, is_deleted
FROM r.t300 AS t
WHERE t.begins <= at
    AND (t.is_current OR t.ends > at - 1)
    AND NOT t.is_deleted;

-- Every version, and what the other versions of its key say.
CREATE OR REPLACE VIEW r.t300_all AS
SELECT
    t.id, t.region, t.a, t.b, t.c, t.the_surrogate_key, t.begins, t.ends, t.is_current, t.the_row_hash,
    t.the_action, t.is_deleted,
    FIRST_VALUE(t.b) OVER by_key AS first_of_b,
    MAX(_scd_since_b) OVER by_key AS since_of_b,
    LAST_VALUE(CASE WHEN t.is_current THEN t.b END) OVER whole_key AS current_of_b
FROM (
    -- Each version that begins a run of one value has its start, or the value before it.
    SELECT
        t.*,
        CASE
            WHEN LAG(STRUCT(t.b, CASE WHEN NOT t.is_current THEN t.ends + 1 END AS _scd_at)) OVER by_key
                <=> STRUCT(t.b, t.begins AS _scd_at)
                THEN NULL
            ELSE t.begins
        END AS _scd_since_b
    FROM r.t300 AS t
    WHERE NOT t.is_deleted
    WINDOW by_key AS (PARTITION BY t.id, t.region ORDER BY t.begins)
) AS t
WINDOW
    by_key AS (PARTITION BY t.id, t.region ORDER BY t.begins),
    whole_key AS (PARTITION BY t.id, t.region ORDER BY t.begins ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING);
