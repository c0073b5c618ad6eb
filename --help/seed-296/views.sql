-- r.t296: it's \ number 296 -- of */ many
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The open versions.
CREATE OR REPLACE VIEW r.t296_now AS
SELECT
    id, a, b, c, the_surrogate_key, begins, ends, is_current, the_row_hash, is_deleted
FROM r.t296 AS t
WHERE t.is_current
    AND NOT t.is_deleted;

-- The versions valid at a time: SELECT * FROM r.t296_at(TIMESTAMP '2024-01-01').
CREATE OR REPLACE FUNCTION r.t296_at (at TIMESTAMP)
RETURNS TABLE
RETURN
SELECT
    id, a, b, c, the_surrogate_key, begins, ends, is_current, the_row_hash, is_deleted
FROM r.t296 AS t
WHERE t.begins <= at
    AND (t.is_current OR t.ends > at - INTERVAL '1' MILLISECOND)
    AND NOT t.is_deleted;

-- Every version, and what the other versions of its key say.
CREATE OR REPLACE VIEW r.t296_all AS
SELECT
    t.id, t.a, t.b, t.c, t.the_surrogate_key, t.begins, t.ends, t.is_current, t.the_row_hash, t.is_deleted,
    FIRST_VALUE(t.b) OVER by_key AS first_of_b,
    (LAST_VALUE(_scd_previous_b) IGNORE NULLS OVER by_key).b AS previous_of_b,
    (LAST_VALUE(_scd_previous_a) IGNORE NULLS OVER by_key).a AS previous_of_a
FROM (
    -- Each version that begins a run of one value has its start, or the value before it.
    SELECT
        t.*,
        CASE
            WHEN LAG(STRUCT(t.b)) OVER by_key <=> STRUCT(t.b) THEN NULL
            ELSE STRUCT(LAG(t.b) OVER by_key AS b)
        END AS _scd_previous_b,
        CASE
            WHEN LAG(STRUCT(coalesce(t.a, '') AS a)) OVER by_key
                <=> STRUCT(coalesce(t.a, '') AS a)
                THEN NULL
            ELSE STRUCT(LAG(t.a) OVER by_key AS a)
        END AS _scd_previous_a
    FROM r.t296 AS t
    WHERE NOT t.is_deleted
    WINDOW by_key AS (PARTITION BY t.id ORDER BY t.begins)
) AS t
WINDOW
    by_key AS (PARTITION BY t.id ORDER BY t.begins);
