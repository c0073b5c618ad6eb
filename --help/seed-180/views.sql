-- r.t180: it's \ number 180 -- of */ many
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The open versions.
CREATE OR REPLACE VIEW r.t180_now AS
SELECT
    id, a, b, c, the_surrogate_key, begins, ends, is_current, the_row_hash, is_deleted
FROM r.t180 AS t
WHERE t.ends = TIMESTAMP '9999-12-31 23:59:59.999'
    AND NOT t.is_deleted;

-- The versions valid at a time: SELECT * FROM r.t180_at(TIMESTAMP '2024-01-01').
CREATE OR REPLACE FUNCTION r.t180_at (at TIMESTAMP)
RETURNS TABLE
RETURN
SELECT
    id, a, b, c, the_surrogate_key, begins, ends, is_current, the_row_hash, is_deleted
FROM r.t180 AS t
WHERE t.begins <= at
    AND t.ends > at
    AND NOT t.is_deleted;
