-- r.t48
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The open versions.
CREATE OR REPLACE VIEW r.t48_now AS
SELECT
    id, a, b, c, begins, ends, is_current, the_row_hash
FROM r.t48 AS t
WHERE t.ends IS NULL;

-- The versions valid at a time: SELECT * FROM r.t48_at(1).
CREATE OR REPLACE FUNCTION r.t48_at (at BIGINT)
RETURNS TABLE
RETURN
SELECT
    id, a, b, c, begins, ends, is_current, the_row_hash
FROM r.t48 AS t
WHERE t.begins <= at
    AND (t.ends IS NULL OR t.ends > at - 1);

-- Every version, and what the other versions of its key say.
CREATE OR REPLACE VIEW r.t48_all AS
SELECT
    t.id, t.a, t.b, t.c, t.begins, t.ends, t.is_current, t.the_row_hash,
    (LAST_VALUE(_scd_previous_b) IGNORE NULLS OVER by_key).b AS previous_of_b,
    MAX(_scd_since_b) OVER by_key AS since_of_b
FROM (
    -- Each version that begins a run of one value has its start, or the value before it.
    SELECT
        t.*,
        CASE
            WHEN LAG(STRUCT(t.b)) OVER by_key <=> STRUCT(t.b) THEN NULL
            ELSE STRUCT(LAG(t.b) OVER by_key AS b)
        END AS _scd_previous_b,
        CASE
            WHEN LAG(STRUCT(t.b, t.ends + 1 AS _scd_at)) OVER by_key
                <=> STRUCT(t.b, t.begins AS _scd_at)
                THEN NULL
            ELSE t.begins
        END AS _scd_since_b
    FROM r.t48 AS t
    WINDOW by_key AS (PARTITION BY t.id ORDER BY t.begins)
) AS t
WINDOW
    by_key AS (PARTITION BY t.id ORDER BY t.begins);
