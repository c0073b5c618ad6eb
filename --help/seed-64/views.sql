-- r.t64: it's \ number 64 -- of */ many
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The open versions.
CREATE OR REPLACE VIEW r.t64_now AS
SELECT
    id, a, b, c, bucket, begins, ends, is_deleted
FROM r.t64 AS t
WHERE t.ends = DATE '9999-12-31'
    AND NOT t.is_deleted;

-- The versions valid at a time: SELECT * FROM r.t64_at(DATE '2024-01-01').
CREATE OR REPLACE FUNCTION r.t64_at (at DATE)
RETURNS TABLE
RETURN
SELECT
    id, a, b, c, bucket, begins, ends, is_deleted
FROM r.t64 AS t
WHERE t.begins <= at
    AND t.ends > at
    AND NOT t.is_deleted;

-- Every version, and what the other versions of its key say.
CREATE OR REPLACE VIEW r.t64_all AS
SELECT
    t.id, t.a, t.b, t.c, t.bucket, t.begins, t.ends, t.is_deleted,
    FIRST_VALUE(t.a) OVER by_key AS first_of_a,
    LAST_VALUE(CASE WHEN t.ends = DATE '9999-12-31' THEN t.a END) OVER whole_key AS current_of_a,
    (LAST_VALUE(_scd_previous_b) IGNORE NULLS OVER by_key).b AS previous_of_b,
    FIRST_VALUE(t.b) OVER by_key AS first_of_b,
    MAX(_scd_since_a) OVER by_key AS since_of_a
FROM (
    -- Each version that begins a run of one value has its start, or the value before it.
    SELECT
        t.*,
        CASE
            WHEN LAG(STRUCT(t.b)) OVER by_key <=> STRUCT(t.b) THEN NULL
            ELSE STRUCT(LAG(t.b) OVER by_key AS b)
        END AS _scd_previous_b,
        CASE
            WHEN LAG(STRUCT(t.a, NULLIF(t.ends, DATE '9999-12-31') AS _scd_at)) OVER by_key
                <=> STRUCT(t.a, t.begins AS _scd_at)
                THEN NULL
            ELSE t.begins
        END AS _scd_since_a
    FROM r.t64 AS t
    WHERE NOT t.is_deleted
    WINDOW by_key AS (PARTITION BY t.id ORDER BY t.begins)
) AS t
WINDOW
    by_key AS (PARTITION BY t.id ORDER BY t.begins),
    whole_key AS (PARTITION BY t.id ORDER BY t.begins ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING);
