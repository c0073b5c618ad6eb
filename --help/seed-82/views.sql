-- r.t82
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The open versions.
CREATE OR REPLACE VIEW r.t82_now AS
SELECT
    id, a, b, c, bucket, begins, ends, is_current, the_row_hash
FROM r.t82 AS t
WHERE t.ends = TIMESTAMP '9999-12-31 23:59:59.999';

-- The versions valid at a time: SELECT * FROM r.t82_at(TIMESTAMP '2024-01-01').
CREATE OR REPLACE FUNCTION r.t82_at (at TIMESTAMP)
RETURNS TABLE
RETURN
SELECT
    id, a, b, c, bucket, begins, ends, is_current, the_row_hash
FROM r.t82 AS t
WHERE t.begins <= at
    AND t.ends > at - INTERVAL '1' DAY;
