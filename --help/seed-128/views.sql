-- r.t128
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The open versions.
CREATE OR REPLACE VIEW r.t128_now AS
SELECT
    id, region, a, b, c, begins, ends, is_current, the_row_hash, is_deleted
FROM r.t128 AS t
WHERE t.ends = TIMESTAMP '9999-12-31 23:59:59.999'
    AND NOT t.is_deleted;

-- The versions valid at a time: SELECT * FROM r.t128_at(TIMESTAMP '2024-01-01').
CREATE OR REPLACE FUNCTION r.t128_at (at TIMESTAMP)
RETURNS TABLE
RETURN
SELECT
    id, region, a, b, c, begins, ends, is_current, the_row_hash, is_deleted
FROM r.t128 AS t
WHERE t.begins <= at
    AND t.ends > at - INTERVAL '1' DAY
    AND NOT t.is_deleted;
