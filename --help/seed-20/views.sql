-- r.t20
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The open versions.
CREATE OR REPLACE VIEW r.t20_now AS
SELECT
    id, a, b, c, the_surrogate_key, begins, ends, is_current
FROM r.t20 AS t
WHERE t.ends IS NULL;

-- The versions valid at a time: SELECT * FROM r.t20_at(1).
CREATE OR REPLACE FUNCTION r.t20_at (at BIGINT)
RETURNS TABLE
RETURN
SELECT
    id, a, b, c, the_surrogate_key, begins, ends, is_current
FROM r.t20 AS t
WHERE t.begins <= at
    AND (t.ends IS NULL OR t.ends > at - 10);
