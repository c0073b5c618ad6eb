-- r.t277
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The open versions.
CREATE OR REPLACE VIEW r.t277_now AS
SELECT
    id, region, a, b, c, bucket, begins, ends, is_current, is_deleted
FROM r.t277 AS t
WHERE t.ends IS NULL
    AND NOT t.is_deleted;

-- The versions valid at a time: SELECT * FROM r.t277_at(TIMESTAMP '2024-01-01').
CREATE OR REPLACE FUNCTION r.t277_at (at TIMESTAMP)
RETURNS TABLE
RETURN
SELECT
    id, region, a, b, c, bucket, begins, ends, is_current, is_deleted
FROM r.t277 AS t
WHERE t.begins <= at
    AND (t.ends IS NULL OR t.ends > at - INTERVAL '1' MICROSECOND)
    AND NOT t.is_deleted;
