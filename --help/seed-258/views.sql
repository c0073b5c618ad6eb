-- r.t258
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- Every version, and what the other versions of its key say.
CREATE OR REPLACE VIEW r.t258_all AS
SELECT
    t.id, t.region, t.a, t.b, t.c, t.begins, t.ends, t.the_row_hash, t.is_deleted,
    FIRST_VALUE(t.b) OVER by_key AS first_of_b
FROM r.t258 AS t
WHERE NOT t.is_deleted
WINDOW
    by_key AS (PARTITION BY t.id, t.region ORDER BY t.begins);
