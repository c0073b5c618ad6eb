-- r.t197
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The open versions.
CREATE OR REPLACE VIEW r.t197_now AS
SELECT
    id, region, a, b, c, begins, ends, current_flag
FROM r.t197 AS t
WHERE t.ends IS NULL;

-- The versions valid at a time: SELECT * FROM r.t197_at(1).
CREATE OR REPLACE FUNCTION r.t197_at (at BIGINT)
RETURNS TABLE
RETURN
SELECT
    id, region, a, b, c, begins, ends, current_flag
FROM r.t197 AS t
WHERE t.begins <= at
    AND (t.ends IS NULL OR t.ends > at);
