-- r.t13
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The open versions.
CREATE OR REPLACE VIEW r.t13_now AS
SELECT
    id, a, b, c, the_surrogate_key, begins, ends, current_flag, the_row_hash, is_deleted
FROM r.t13 AS t
WHERE t.ends = DATE '9999-12-31'
    AND NOT t.is_deleted;

-- The versions valid at a time: SELECT * FROM r.t13_at(DATE '2024-01-01').
CREATE OR REPLACE FUNCTION r.t13_at (at DATE)
RETURNS TABLE
RETURN
SELECT
    id, a, b, c, the_surrogate_key, begins, ends, current_flag, the_row_hash, is_deleted
FROM r.t13 AS t
WHERE t.begins <= at
    AND t.ends > at - INTERVAL '1' DAY
    AND NOT t.is_deleted;
