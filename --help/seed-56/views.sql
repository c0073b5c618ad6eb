-- r.t56: it's \ number 56 -- of */ many
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The open versions.
CREATE OR REPLACE VIEW r.t56_now AS
SELECT
    id, a, b, c, the_surrogate_key, begins, ends, is_current, the_row_hash, is_deleted
FROM r.t56 AS t
WHERE t.is_current = 1
    AND NOT t.is_deleted;

-- The versions valid at a time: SELECT * FROM r.t56_at(1).
CREATE OR REPLACE FUNCTION r.t56_at (at BIGINT)
RETURNS TABLE
RETURN
SELECT
    id, a, b, c, the_surrogate_key, begins, ends, is_current, the_row_hash, is_deleted
FROM r.t56 AS t
WHERE t.begins <= at
    AND (t.is_current = 1 OR t.ends > at)
    AND NOT t.is_deleted;

-- Every version, and what the other versions of its key say.
CREATE OR REPLACE VIEW r.t56_all AS
SELECT
    t.id, t.a, t.b, t.c, t.the_surrogate_key, t.begins, t.ends, t.is_current, t.the_row_hash, t.is_deleted,
    LAST_VALUE(CASE WHEN t.is_current = 1 THEN t.b END) OVER whole_key AS current_of_b,
    (LAST_VALUE(_scd_previous_a) IGNORE NULLS OVER by_key).a AS previous_of_a
FROM (
    -- Each version that begins a run of one value has its start, or the value before it.
    SELECT
        t.*,
        CASE
            WHEN LAG(STRUCT(t.a = 'x' AS a)) OVER by_key <=> STRUCT(t.a = 'x' AS a) THEN NULL
            ELSE STRUCT(LAG(t.a) OVER by_key AS a)
        END AS _scd_previous_a
    FROM r.t56 AS t
    WHERE NOT t.is_deleted
    WINDOW by_key AS (PARTITION BY t.id ORDER BY t.begins)
) AS t
WINDOW
    by_key AS (PARTITION BY t.id ORDER BY t.begins),
    whole_key AS (PARTITION BY t.id ORDER BY t.begins ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING);
