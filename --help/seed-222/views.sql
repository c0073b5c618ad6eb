-- r.t222: it's \ number 222 -- of */ many
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The open versions.
CREATE OR REPLACE VIEW r.t222_now AS
SELECT
    id, region, a, b, c, begins, ends, is_current, the_action
FROM r.t222 AS t
WHERE t.is_current = 1;

-- The versions valid at a time: SELECT * FROM r.t222_at(TIMESTAMP '2024-01-01').
CREATE OR REPLACE FUNCTION r.t222_at (at TIMESTAMP)
RETURNS TABLE
RETURN
SELECT
    id, region, a, b, c, begins, ends, is_current, the_action
FROM r.t222 AS t
WHERE t.begins <= at
    AND (t.is_current = 1 OR t.ends > at - INTERVAL '1' MICROSECOND);
