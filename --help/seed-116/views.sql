-- r.t116
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The open versions.
CREATE OR REPLACE VIEW r.t116_now AS
SELECT
    id, region, a, b, c, bucket, the_surrogate_key, begins, ends, is_current
FROM r.t116 AS t
WHERE t.ends = 9999999999;

-- The versions valid at a time: SELECT * FROM r.t116_at(1).
CREATE OR REPLACE FUNCTION r.t116_at (at BIGINT)
RETURNS TABLE
RETURN
SELECT
    id, region, a, b, c, bucket, the_surrogate_key, begins, ends, is_current
FROM r.t116 AS t
WHERE t.begins <= at
    AND t.ends > at - 10;
