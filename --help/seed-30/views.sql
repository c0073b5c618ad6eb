-- r.t30: it's \ number 30 -- of */ many
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The open versions.
CREATE OR REPLACE VIEW r.t30_now AS
SELECT
    id, a, b, c, bucket, the_surrogate_key, begins, ends, is_current, the_row_hash, the_action
FROM r.t30 AS t
WHERE t.ends = 9999999999;

-- The versions valid at a time: SELECT * FROM r.t30_at(1).
CREATE OR REPLACE FUNCTION r.t30_at (at BIGINT)
RETURNS TABLE
RETURN
SELECT
    id, a, b, c, bucket, the_surrogate_key, begins, ends, is_current, the_row_hash, the_action
FROM r.t30 AS t
WHERE t.begins <= at
    AND t.ends > at - 1;

-- Every version, and what the other versions of its key say.
CREATE OR REPLACE VIEW r.t30_all AS
SELECT
    t.id, t.a, t.b, t.c, t.bucket, t.the_surrogate_key, t.begins, t.ends, t.is_current, t.the_row_hash,
    t.the_action,
    MAX(_scd_since_b) OVER by_key AS since_of_b,
    FIRST_VALUE(t.a) OVER by_key AS first_of_a
FROM (
    -- Each version that begins a run of one value has its start, or the value before it.
    SELECT
        t.*,
        CASE
            WHEN LAG(STRUCT(t.b, NULLIF(t.ends, 9999999999) + 1 AS _scd_at)) OVER by_key
                <=> STRUCT(t.b, t.begins AS _scd_at)
                THEN NULL
            ELSE t.begins
        END AS _scd_since_b
    FROM r.t30 AS t
    WINDOW by_key AS (PARTITION BY t.id ORDER BY t.begins)
) AS t
WINDOW
    by_key AS (PARTITION BY t.id ORDER BY t.begins);
