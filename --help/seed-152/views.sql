-- r.t152
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The open versions.
CREATE OR REPLACE VIEW r.t152_now AS
SELECT
    id, a, b, c, begins, ends, current_flag, the_row_hash
FROM r.t152 AS t
WHERE t.current_flag = 'Y';

-- The versions valid at a time: SELECT * FROM r.t152_at(DATE '2024-01-01').
CREATE OR REPLACE FUNCTION r.t152_at (at DATE)
RETURNS TABLE
RETURN
SELECT
    id, a, b, c, begins, ends, current_flag, the_row_hash
FROM r.t152 AS t
WHERE t.begins <= at
    AND (t.current_flag = 'Y' OR t.ends > at);
