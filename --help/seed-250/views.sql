-- r.t250: it's \ number 250 -- of */ many
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- Every version, and what the other versions of its key say.
CREATE OR REPLACE VIEW r.t250_all AS
SELECT
    t.id, t.a, t.b, t.c, t.the_surrogate_key, t.begins, t.ends, t.is_current, t.is_deleted,
    LAST_VALUE(CASE WHEN t.ends IS NULL THEN t.b END) OVER whole_key AS current_of_b
FROM r.t250 AS t
WHERE NOT t.is_deleted
WINDOW
    whole_key AS (PARTITION BY t.id ORDER BY t.begins ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING);
