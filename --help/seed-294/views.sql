-- r.t294: it's \ number 294 -- of */ many
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The open versions.
CREATE OR REPLACE VIEW r.t294_now AS
SELECT
    id, a, b, c, begins, ends, current_flag, is_deleted
FROM r.t294 AS t
WHERE t.current_flag = 'Y'
    AND NOT t.is_deleted;

-- The versions valid at a time: SELECT * FROM r.t294_at(TIMESTAMP '2024-01-01').
CREATE OR REPLACE FUNCTION r.t294_at (at TIMESTAMP)
RETURNS TABLE
RETURN
SELECT
    id, a, b, c, begins, ends, current_flag, is_deleted
FROM r.t294 AS t
WHERE t.begins <= at
    AND (t.current_flag = 'Y' OR t.ends > at)
    AND NOT t.is_deleted;

-- Every version, and what the other versions of its key say.
CREATE OR REPLACE VIEW r.t294_all AS
SELECT
    t.id, t.a, t.b, t.c, t.begins, t.ends, t.current_flag, t.is_deleted,
    LAST_VALUE(CASE WHEN t.current_flag = 'Y' THEN t.b END) OVER whole_key AS current_of_b
FROM r.t294 AS t
WHERE NOT t.is_deleted
WINDOW
    whole_key AS (PARTITION BY t.id ORDER BY t.begins ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING);
