-- r.t224: it's \ number 224 -- of */ many
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The open versions.
CREATE OR REPLACE VIEW r.t224_now AS
SELECT
    id, a, b, c, bucket, the_surrogate_key, begins, ends, is_current, is_deleted
FROM r.t224 AS t
WHERE t.is_current
    AND NOT t.is_deleted;

-- The versions valid at a time: SELECT * FROM r.t224_at(TIMESTAMP '2024-01-01').
CREATE OR REPLACE FUNCTION r.t224_at (at TIMESTAMP)
RETURNS TABLE
RETURN
SELECT
    id, a, b, c, bucket, the_surrogate_key, begins, ends, is_current, is_deleted
FROM r.t224 AS t
WHERE t.begins <= at
    AND (t.is_current OR t.ends > at - INTERVAL '1' MICROSECOND)
    AND NOT t.is_deleted;

-- Every version, and what the other versions of its key say.
CREATE OR REPLACE VIEW r.t224_all AS
SELECT
    t.id, t.a, t.b, t.c, t.bucket, t.the_surrogate_key, t.begins, t.ends, t.is_current, t.is_deleted,
    LAST_VALUE(CASE WHEN t.is_current THEN t.a END) OVER whole_key AS current_of_a,
    LAST_VALUE(CASE WHEN t.is_current THEN t.b END) OVER whole_key AS current_of_b,
    FIRST_VALUE(t.a) OVER by_key AS first_of_a
FROM r.t224 AS t
WHERE NOT t.is_deleted
WINDOW
    by_key AS (PARTITION BY t.id ORDER BY t.begins),
    whole_key AS (PARTITION BY t.id ORDER BY t.begins ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING);
