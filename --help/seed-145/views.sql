-- r.t145: it's \ number 145 -- of */ many
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- Every version, and what the other versions of its key say.
CREATE OR REPLACE VIEW r.t145_all AS
SELECT
    t.id, t.a, t.b, t.c, t.begins, t.ends, t.is_current, t.is_deleted,
    LAST_VALUE(CASE WHEN t.is_current THEN t.a END) OVER whole_key AS current_of_a
FROM r.t145 AS t
WHERE NOT t.is_deleted
WINDOW
    whole_key AS (PARTITION BY t.id ORDER BY t.begins ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING);
