-- r.t233
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The open versions.
CREATE OR REPLACE VIEW r.t233_now AS
SELECT
    id, a, b, c, begins, ends, current_flag, the_row_hash
FROM r.t233 AS t
WHERE t.ends IS NULL;

-- The versions valid at a time: SELECT * FROM r.t233_at(1).
CREATE OR REPLACE FUNCTION r.t233_at (at BIGINT)
RETURNS TABLE
RETURN
SELECT
    id, a, b, c, begins, ends, current_flag, the_row_hash
FROM r.t233 AS t
WHERE t.begins <= at
    AND (t.ends IS NULL OR t.ends > at - 10);

-- Every version, and what the other versions of its key say.
CREATE OR REPLACE VIEW r.t233_all AS
SELECT
    t.id, t.a, t.b, t.c, t.begins, t.ends, t.current_flag, t.the_row_hash,
    LAST_VALUE(CASE WHEN t.ends IS NULL THEN t.b END) OVER whole_key AS current_of_b,
    FIRST_VALUE(t.a) OVER by_key AS first_of_a,
    (LAST_VALUE(_scd_previous_a) IGNORE NULLS OVER by_key).a AS previous_of_a,
    MAX(_scd_since_a) OVER by_key AS since_of_a
FROM (
    -- Each version that begins a run of one value has its start, or the value before it.
    SELECT
        t.*,
        CASE
            WHEN LAG(STRUCT(t.a)) OVER by_key <=> STRUCT(t.a) THEN NULL
            ELSE STRUCT(LAG(t.a) OVER by_key AS a)
        END AS _scd_previous_a,
        CASE
            WHEN LAG(STRUCT(t.a, t.ends + 10 AS _scd_at)) OVER by_key
                <=> STRUCT(t.a, t.begins AS _scd_at)
                THEN NULL
            ELSE t.begins
        END AS _scd_since_a
    FROM r.t233 AS t
    WINDOW by_key AS (PARTITION BY t.id ORDER BY t.begins)
) AS t
WINDOW
    by_key AS (PARTITION BY t.id ORDER BY t.begins),
    whole_key AS (PARTITION BY t.id ORDER BY t.begins ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING);
