-- r.t193: it's \ number 193 -- of */ many
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The open versions.
CREATE OR REPLACE VIEW r.t193_now AS
SELECT
    id, a, b, c, begins, ends, is_current, is_deleted
FROM r.t193 AS t
WHERE t.ends IS NULL
    AND NOT t.is_deleted;

-- The versions valid at a time: SELECT * FROM r.t193_at(1).
CREATE OR REPLACE FUNCTION r.t193_at (at BIGINT)
RETURNS TABLE
RETURN
SELECT
    id, a, b, c, begins, ends, is_current, is_deleted
FROM r.t193 AS t
WHERE t.begins <= at
    AND (t.ends IS NULL OR t.ends > at - 1)
    AND NOT t.is_deleted;

-- Every version, and what the other versions of its key say.
CREATE OR REPLACE VIEW r.t193_all AS
SELECT
    t.id, t.a, t.b, t.c, t.begins, t.ends, t.is_current, t.is_deleted,
    LAST_VALUE(CASE WHEN t.ends IS NULL THEN t.b END) OVER whole_key AS current_of_b
FROM r.t193 AS t
WHERE NOT t.is_deleted
WINDOW
    whole_key AS (PARTITION BY t.id ORDER BY t.begins ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING);
