-- r.t45
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The open versions.
CREATE OR REPLACE VIEW r.t45_now AS
SELECT
    id, region, a, b, c, bucket, the_surrogate_key, begins, ends, is_current, the_row_hash, the_action
FROM r.t45 AS t
WHERE t.is_current = 1;

-- The versions valid at a time: SELECT * FROM r.t45_at(DATE '2024-01-01').
CREATE OR REPLACE FUNCTION r.t45_at (at DATE)
RETURNS TABLE
RETURN
SELECT
    id, region, a, b, c, bucket, the_surrogate_key, begins, ends, is_current, the_row_hash, the_action
FROM r.t45 AS t
WHERE t.begins <= at
    AND (t.is_current = 1 OR t.ends > at - INTERVAL '1' DAY);

-- Every version, and what the other versions of its key say.
CREATE OR REPLACE VIEW r.t45_all AS
SELECT
    t.id, t.region, t.a, t.b, t.c, t.bucket, t.the_surrogate_key, t.begins, t.ends, t.is_current, t.the_row_hash,
    t.the_action,
    MAX(_scd_since_b) OVER by_key AS since_of_b,
    FIRST_VALUE(t.b) OVER by_key AS first_of_b,
    MAX(_scd_since_a) OVER by_key AS since_of_a
FROM (
    -- Each version that begins a run of one value has its start, or the value before it.
    SELECT
        t.*,
        CASE
            WHEN LAG(STRUCT(
                t.b, CASE WHEN NOT (t.is_current = 1) THEN t.ends + INTERVAL '1' DAY END AS _scd_at
            )) OVER by_key
                <=> STRUCT(t.b, t.begins AS _scd_at)
                THEN NULL
            ELSE t.begins
        END AS _scd_since_b,
        CASE
            WHEN LAG(STRUCT(
                t.a, CASE WHEN NOT (t.is_current = 1) THEN t.ends + INTERVAL '1' DAY END AS _scd_at
            )) OVER by_key
                <=> STRUCT(t.a, t.begins AS _scd_at)
                THEN NULL
            ELSE t.begins
        END AS _scd_since_a
    FROM r.t45 AS t
    WINDOW by_key AS (PARTITION BY t.id, t.region ORDER BY t.begins)
) AS t
WINDOW
    by_key AS (PARTITION BY t.id, t.region ORDER BY t.begins);
