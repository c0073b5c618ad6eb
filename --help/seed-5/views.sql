-- r.t5
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The open versions.
CREATE OR REPLACE VIEW r.t5_now AS
SELECT
    id, a, b, c, begins, ends, is_current, the_row_hash
FROM r.t5 AS t
WHERE t.ends = 9999999999;

-- The versions valid at a time: SELECT * FROM r.t5_at(1).
CREATE OR REPLACE FUNCTION r.t5_at (at BIGINT)
RETURNS TABLE
RETURN
SELECT
    id, a, b, c, begins, ends, is_current, the_row_hash
FROM r.t5 AS t
WHERE t.begins <= at
    AND t.ends > at - 1;
