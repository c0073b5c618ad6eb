-- r.t129: it's \ number 129 -- of */ many
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The open versions.
CREATE OR REPLACE VIEW r.t129_now AS
SELECT
    id, a, b, c, begins, ends, is_current, the_row_hash, the_action, is_deleted
FROM r.t129 AS t
WHERE t.is_current
    AND NOT t.is_deleted;

-- The versions valid at a time: SELECT * FROM r.t129_at(1).
CREATE OR REPLACE FUNCTION r.t129_at (at BIGINT)
RETURNS TABLE
RETURN
SELECT
    id, a, b, c, begins, ends, is_current, the_row_hash, the_action, is_deleted
FROM r.t129 AS t
WHERE t.begins <= at
    AND (t.is_current OR t.ends > at - 10)
    AND NOT t.is_deleted;

-- Every version, and what the other versions of its key say.
CREATE OR REPLACE VIEW r.t129_all AS
SELECT
    t.id, t.a, t.b, t.c, t.begins, t.ends, t.is_current, t.the_row_hash, t.the_action, t.is_deleted,
    MAX(_scd_since_a) OVER by_key AS since_of_a
FROM (
    -- Each version that begins a run of one value has its start, or the value before it.
    SELECT
        t.*,
        CASE
            WHEN LAG(STRUCT(t.a, CASE WHEN NOT t.is_current THEN t.ends + 10 END AS _scd_at)) OVER by_key
                <=> STRUCT(t.a, t.begins AS _scd_at)
                THEN NULL
            ELSE t.begins
        END AS _scd_since_a
    FROM r.t129 AS t
    WHERE NOT t.is_deleted
    WINDOW by_key AS (PARTITION BY t.id ORDER BY t.begins)
) AS t
WINDOW
    by_key AS (PARTITION BY t.id ORDER BY t.begins);
