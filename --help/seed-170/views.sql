-- r.t170
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The open versions.
CREATE OR REPLACE VIEW r.t170_now AS
SELECT
    id, region, a, b, c, bucket, begins, ends, is_current, the_row_hash, the_action
FROM r.t170 AS t
WHERE t.is_current;

-- The versions valid at a time: SELECT * FROM r.t170_at(DATE '2024-01-01').
CREATE OR REPLACE FUNCTION r.t170_at (at DATE)
RETURNS TABLE
RETURN
SELECT
    id, region, a, b, c, bucket, begins, ends, is_current, the_row_hash, the_action
FROM r.t170 AS t
WHERE t.begins <= at
    AND (t.is_current OR t.ends > at - INTERVAL '1' DAY);

-- Every version, and what the other versions of its key say.
CREATE OR REPLACE VIEW r.t170_all AS
SELECT
    t.id, t.region, t.a, t.b, t.c, t.bucket, t.begins, t.ends, t.is_current, t.the_row_hash, t.the_action,
    LAST_VALUE(CASE WHEN t.is_current THEN t.a END) OVER whole_key AS current_of_a
FROM r.t170 AS t
WINDOW
    whole_key AS (PARTITION BY t.id, t.region ORDER BY t.begins ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING);
