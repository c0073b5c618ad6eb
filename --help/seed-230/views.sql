-- r.t230
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- Every version, and what the other versions of its key say.
CREATE OR REPLACE VIEW r.t230_all AS
SELECT
    t.id, t.a, t.b, t.c, t.begins, t.ends, t.is_current, t.is_deleted,
    FIRST_VALUE(t.a) OVER by_key AS first_of_a,
    FIRST_VALUE(t.b) OVER by_key AS first_of_b
FROM r.t230 AS t
WHERE NOT t.is_deleted
WINDOW
    by_key AS (PARTITION BY t.id ORDER BY t.begins);
