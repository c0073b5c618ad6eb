-- r.t25: it's \ number 25 -- of */ many
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The open versions.
CREATE OR REPLACE VIEW r.t25_now AS
SELECT
    id, a, b, c, begins, ends, is_current, the_row_hash
FROM r.t25 AS t
WHERE t.ends IS NULL;

-- The versions valid at a time: SELECT * FROM r.t25_at(DATE '2024-01-01').
CREATE OR REPLACE FUNCTION r.t25_at (at DATE)
RETURNS TABLE
RETURN
SELECT
    id, a, b, c, begins, ends, is_current, the_row_hash
FROM r.t25 AS t
WHERE t.begins <= at
    AND (t.ends IS NULL OR t.ends > at);

-- Every version, and what the other versions of its key say.
CREATE OR REPLACE VIEW r.t25_all AS
SELECT
    t.id, t.a, t.b, t.c, t.begins, t.ends, t.is_current, t.the_row_hash,
    (LAST_VALUE(_scd_previous_a) IGNORE NULLS OVER by_key).a AS previous_of_a
FROM (
    -- Each version that begins a run of one value has its start, or the value before it.
    SELECT
        t.*,
        CASE
            WHEN LAG(STRUCT(t.a)) OVER by_key <=> STRUCT(t.a) THEN NULL
            ELSE STRUCT(LAG(t.a) OVER by_key AS a)
        END AS _scd_previous_a
    FROM r.t25 AS t
    WINDOW by_key AS (PARTITION BY t.id ORDER BY t.begins)
) AS t
WINDOW
    by_key AS (PARTITION BY t.id ORDER BY t.begins);
