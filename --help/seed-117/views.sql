-- r.t117: it's \ number 117 -- of */ many
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The open versions.
CREATE OR REPLACE VIEW r.t117_now AS
SELECT
    id, region, a, b, c, begins, ends, current_flag, the_action
FROM r.t117 AS t
WHERE t.ends IS NULL;

-- The versions valid at a time: SELECT * FROM r.t117_at(TIMESTAMP '2024-01-01').
CREATE OR REPLACE FUNCTION r.t117_at (at TIMESTAMP)
RETURNS TABLE
RETURN
SELECT
    id, region, a, b, c, begins, ends, current_flag, the_action
FROM r.t117 AS t
WHERE t.begins <= at
    AND (t.ends IS NULL OR t.ends > at - INTERVAL '1' MICROSECOND);

-- Every version, and what the other versions of its key say.
CREATE OR REPLACE VIEW r.t117_all AS
SELECT
    t.id, t.region, t.a, t.b, t.c, t.begins, t.ends, t.current_flag, t.the_action,
    FIRST_VALUE(t.a) OVER by_key AS first_of_a
FROM r.t117 AS t
WINDOW
    by_key AS (PARTITION BY t.id, t.region ORDER BY t.begins);
