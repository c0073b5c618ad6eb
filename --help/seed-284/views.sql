-- r.t284
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The open versions.
CREATE OR REPLACE VIEW r.t284_now AS
SELECT
    id, a, b, c, the_surrogate_key, begins, ends, is_current, the_row_hash, the_action, is_deleted
FROM r.t284 AS t
WHERE t.is_current
    AND NOT t.is_deleted;

-- The versions valid at a time: SELECT * FROM r.t284_at(TIMESTAMP '2024-01-01').
CREATE OR REPLACE FUNCTION r.t284_at (at TIMESTAMP)
RETURNS TABLE
RETURN
SELECT
    id, a, b, c, the_surrogate_key, begins, ends, is_current, the_row_hash, the_action, is_deleted
FROM r.t284 AS t
WHERE t.begins <= at
    AND (t.is_current OR t.ends > at - INTERVAL '1' MILLISECOND)
    AND NOT t.is_deleted;
