-- r.t201: it's \ number 201 -- of */ many
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- Every version, and what the other versions of its key say.
CREATE OR REPLACE VIEW r.t201_all AS
SELECT
    t.id, t.a, t.b, t.c, t.the_surrogate_key, t.begins, t.ends, t.is_current,
    FIRST_VALUE(t.b) OVER by_key AS first_of_b
FROM r.t201 AS t
WINDOW
    by_key AS (PARTITION BY t.id ORDER BY t.begins);
