-- r.t189: it's \ number 189 -- of */ many
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The open versions.
CREATE OR REPLACE VIEW r.t189_now AS
SELECT
    id, a, b, c, the_surrogate_key, begins, ends, is_current, the_action
FROM r.t189 AS t
WHERE t.ends IS NULL;

-- The versions valid at a time: SELECT * FROM r.t189_at(DATE '2024-01-01').
CREATE OR REPLACE FUNCTION r.t189_at (at DATE)
RETURNS TABLE
RETURN
SELECT
    id, a, b, c, the_surrogate_key, begins, ends, is_current, the_action
FROM r.t189 AS t
WHERE t.begins <= at
    AND (t.ends IS NULL OR t.ends > at - INTERVAL '1' DAY);
