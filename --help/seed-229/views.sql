-- r.t229
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The open versions.
CREATE OR REPLACE VIEW r.t229_now AS
SELECT
    id, a, b, c, bucket, begins, ends, the_action
FROM r.t229 AS t
WHERE t.ends IS NULL;

-- The versions valid at a time: SELECT * FROM r.t229_at(1).
CREATE OR REPLACE FUNCTION r.t229_at (at BIGINT)
RETURNS TABLE
RETURN
SELECT
    id, a, b, c, bucket, begins, ends, the_action
FROM r.t229 AS t
WHERE t.begins <= at
    AND (t.ends IS NULL OR t.ends > at);

-- Every version, and what the other versions of its key say.
CREATE OR REPLACE VIEW r.t229_all AS
SELECT
    t.id, t.a, t.b, t.c, t.bucket, t.begins, t.ends, t.the_action,
    FIRST_VALUE(t.a) OVER by_key AS first_of_a,
    (LAST_VALUE(_scd_previous_b) IGNORE NULLS OVER by_key).b AS previous_of_b,
    LAST_VALUE(CASE WHEN t.ends IS NULL THEN t.a END) OVER whole_key AS current_of_a
FROM (
    -- Each version that begins a run of one value has its start, or the value before it.
    SELECT
        t.*,
        CASE
            WHEN LAG(STRUCT(t.b)) OVER by_key <=> STRUCT(t.b) THEN NULL
            ELSE STRUCT(LAG(t.b) OVER by_key AS b)
        END AS _scd_previous_b
    FROM r.t229 AS t
    WINDOW by_key AS (PARTITION BY t.id ORDER BY t.begins)
) AS t
WINDOW
    by_key AS (PARTITION BY t.id ORDER BY t.begins),
    whole_key AS (PARTITION BY t.id ORDER BY t.begins ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING);
