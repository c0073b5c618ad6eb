-- r.t41
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The open versions.
CREATE OR REPLACE VIEW r.t41_now AS
SELECT
    id, a, b, c, bucket, begins, ends, current_flag, the_row_hash
FROM r.t41 AS t
WHERE t.ends IS NULL;

-- The versions valid at a time: SELECT * FROM r.t41_at(DATE '2024-01-01').
CREATE OR REPLACE FUNCTION r.t41_at (at DATE)
RETURNS TABLE
RETURN
SELECT
    id, a, b, c, bucket, begins, ends, current_flag, the_row_hash
FROM r.t41 AS t
WHERE t.begins <= at
    AND (t.ends IS NULL OR t.ends > at - INTERVAL '1' DAY);

-- Every version, and what the other versions of its key say.
CREATE OR REPLACE VIEW r.t41_all AS
SELECT
    t.id, t.a, t.b, t.c, t.bucket, t.begins, t.ends, t.current_flag, t.the_row_hash,
    LAST_VALUE(CASE WHEN t.ends IS NULL THEN t.b END) OVER whole_key AS current_of_b,
    (LAST_VALUE(_scd_previous_a) IGNORE NULLS OVER by_key).a AS previous_of_a,
    MAX(_scd_since_a) OVER by_key AS since_of_a,
    MAX(_scd_since_b) OVER by_key AS since_of_b
FROM (
    -- Each version that begins a run of one value has its start, or the value before it.
    SELECT
        t.*,
        CASE
            WHEN LAG(STRUCT(coalesce(t.a, '') AS a)) OVER by_key
                <=> STRUCT(coalesce(t.a, '') AS a)
                THEN NULL
            ELSE STRUCT(LAG(t.a) OVER by_key AS a)
        END AS _scd_previous_a,
        CASE
            WHEN LAG(STRUCT(coalesce(t.a, '') AS a, t.ends + INTERVAL '1' DAY AS _scd_at)) OVER by_key
                <=> STRUCT(coalesce(t.a, '') AS a, t.begins AS _scd_at)
                THEN NULL
            ELSE t.begins
        END AS _scd_since_a,
        CASE
            WHEN LAG(STRUCT(t.b, t.ends + INTERVAL '1' DAY AS _scd_at)) OVER by_key
                <=> STRUCT(t.b, t.begins AS _scd_at)
                THEN NULL
            ELSE t.begins
        END AS _scd_since_b
    FROM r.t41 AS t
    WINDOW by_key AS (PARTITION BY t.id ORDER BY t.begins)
) AS t
WINDOW
    by_key AS (PARTITION BY t.id ORDER BY t.begins),
    whole_key AS (PARTITION BY t.id ORDER BY t.begins ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING);
