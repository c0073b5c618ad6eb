-- r.t108
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The open versions.
CREATE OR REPLACE VIEW r.t108_now AS
SELECT
    id, a, b, c, bucket, begins, ends, the_row_hash, the_action
FROM r.t108 AS t
WHERE t.ends = TIMESTAMP '9999-12-31 23:59:59.999';

-- The versions valid at a time: SELECT * FROM r.t108_at(TIMESTAMP '2024-01-01').
CREATE OR REPLACE FUNCTION r.t108_at (at TIMESTAMP)
RETURNS TABLE
RETURN
SELECT
    id, a, b, c, bucket, begins, ends, the_row_hash, the_action
FROM r.t108 AS t
WHERE t.begins <= at
    AND t.ends > at;

-- Every version, and what the other versions of its key say.
CREATE OR REPLACE VIEW r.t108_all AS
SELECT
    t.id, t.a, t.b, t.c, t.bucket, t.begins, t.ends, t.the_row_hash, t.the_action,
    FIRST_VALUE(t.a) OVER by_key AS first_of_a,
    MAX(_scd_since_b) OVER by_key AS since_of_b,
    FIRST_VALUE(t.b) OVER by_key AS first_of_b
FROM (
    -- Each version that begins a run of one value has its start, or the value before it.
    SELECT
        t.*,
        CASE
            WHEN LAG(STRUCT(t.b, NULLIF(t.ends, TIMESTAMP '9999-12-31 23:59:59.999') AS _scd_at)) OVER by_key
                <=> STRUCT(t.b, t.begins AS _scd_at)
                THEN NULL
            ELSE t.begins
        END AS _scd_since_b
    FROM r.t108 AS t
    WINDOW by_key AS (PARTITION BY t.id ORDER BY t.begins)
) AS t
WINDOW
    by_key AS (PARTITION BY t.id ORDER BY t.begins);
