-- r.t205: it's \ number 205 -- of */ many
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The open versions.
CREATE OR REPLACE VIEW r.t205_now AS
SELECT
    id, a, b, c, begins, ends, is_current, the_action, is_deleted
FROM r.t205 AS t
WHERE t.ends = DATE '9999-12-31'
    AND NOT t.is_deleted;

-- The versions valid at a time: SELECT * FROM r.t205_at(DATE '2024-01-01').
CREATE OR REPLACE FUNCTION r.t205_at (at DATE)
RETURNS TABLE
RETURN
SELECT
    id, a, b, c, begins, ends, is_current, the_action, is_deleted
FROM r.t205 AS t
WHERE t.begins <= at
    AND t.ends > at - INTERVAL '1' DAY
    AND NOT t.is_deleted;
