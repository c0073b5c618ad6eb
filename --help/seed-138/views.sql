-- r.t138
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The open versions.
CREATE OR REPLACE VIEW r.t138_now AS
SELECT
    id, region, a, b, c, the_surrogate_key, begins, ends, is_current, is_deleted
FROM r.t138 AS t
WHERE t.is_current = 1
    AND NOT t.is_deleted;

-- The versions valid at a time: SELECT * FROM r.t138_at(TIMESTAMP '2024-01-01').
CREATE OR REPLACE FUNCTION r.t138_at (at TIMESTAMP)
RETURNS TABLE
RETURN
SELECT
    id, region, a, b, c, the_surrogate_key, begins, ends, is_current, is_deleted
FROM r.t138 AS t
WHERE t.begins <= at
    AND (t.is_current = 1 OR t.ends > at - INTERVAL '1' DAY)
    AND NOT t.is_deleted;
