-- r.t244: it's \ number 244 -- of */ many
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The open versions.
CREATE OR REPLACE VIEW r.t244_now AS
SELECT
    id, region, a, b, c, begins, ends, current_flag, the_row_hash, is_deleted
FROM r.t244 AS t
WHERE t.current_flag = 'Y'
    AND NOT t.is_deleted;

-- The versions valid at a time: SELECT * FROM r.t244_at(1).
CREATE OR REPLACE FUNCTION r.t244_at (at BIGINT)
RETURNS TABLE
RETURN
SELECT
    id, region, a, b, c, begins, ends, current_flag, the_row_hash, is_deleted
FROM r.t244 AS t
WHERE t.begins <= at
    AND (t.current_flag = 'Y' OR t.ends > at - 1)
    AND NOT t.is_deleted;

-- Every version, and what the other versions of its key say.
CREATE OR REPLACE VIEW r.t244_all AS
SELECT
    t.id, t.region, t.a, t.b, t.c, t.begins, t.ends, t.current_flag, t.the_row_hash, t.is_deleted,
    MAX(_scd_since_b) OVER by_key AS since_of_b,
    MAX(_scd_since_a) OVER by_key AS since_of_a
FROM (
    -- Each version that begins a run of one value has its start, or the value before it.
    SELECT
        t.*,
        CASE
            WHEN LAG(STRUCT(t.b, CASE WHEN NOT (t.current_flag = 'Y') THEN t.ends + 1 END AS _scd_at)) OVER by_key
                <=> STRUCT(t.b, t.begins AS _scd_at)
                THEN NULL
            ELSE t.begins
        END AS _scd_since_b,
        CASE
            WHEN LAG(STRUCT(t.a, CASE WHEN NOT (t.current_flag = 'Y') THEN t.ends + 1 END AS _scd_at)) OVER by_key
                <=> STRUCT(t.a, t.begins AS _scd_at)
                THEN NULL
            ELSE t.begins
        END AS _scd_since_a
    FROM r.t244 AS t
    WHERE NOT t.is_deleted
    WINDOW by_key AS (PARTITION BY t.id, t.region ORDER BY t.begins)
) AS t
WINDOW
    by_key AS (PARTITION BY t.id, t.region ORDER BY t.begins);
