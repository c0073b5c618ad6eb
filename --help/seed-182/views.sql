-- r.t182
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The open versions.
CREATE OR REPLACE VIEW r.t182_now AS
SELECT
    id, a, b, c, begins, ends, current_flag, the_row_hash, is_deleted
FROM r.t182 AS t
WHERE t.ends IS NULL
    AND NOT t.is_deleted;

-- The versions valid at a time: SELECT * FROM r.t182_at(DATE '2024-01-01').
CREATE OR REPLACE FUNCTION r.t182_at (at DATE)
RETURNS TABLE
RETURN
SELECT
    id, a, b, c, begins, ends, current_flag, the_row_hash, is_deleted
FROM r.t182 AS t
WHERE t.begins <= at
    AND (t.ends IS NULL OR t.ends > at - INTERVAL '1' DAY)
    AND NOT t.is_deleted;

-- Every version, and what the other versions of its key say.
CREATE OR REPLACE VIEW r.t182_all AS
SELECT
    t.id, t.a, t.b, t.c, t.begins, t.ends, t.current_flag, t.the_row_hash, t.is_deleted,
    FIRST_VALUE(t.b) OVER by_key AS first_of_b,
    LAST_VALUE(CASE WHEN t.ends IS NULL THEN t.a END) OVER whole_key AS current_of_a
FROM r.t182 AS t
WHERE NOT t.is_deleted
WINDOW
    by_key AS (PARTITION BY t.id ORDER BY t.begins),
    whole_key AS (PARTITION BY t.id ORDER BY t.begins ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING);
