-- r.t60: it's \ number 60 -- of */ many
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- Every version, and what the other versions of its key say.
CREATE OR REPLACE VIEW r.t60_all AS
SELECT
    t.id, t.region, t.a, t.b, t.c, t.begins, t.ends, t.current_flag, t.is_deleted,
    LAST_VALUE(CASE WHEN t.ends = DATE '9999-12-31' THEN t.b END) OVER whole_key AS current_of_b
FROM r.t60 AS t
WHERE NOT t.is_deleted
WINDOW
    whole_key AS (PARTITION BY t.id, t.region ORDER BY t.begins ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING);
