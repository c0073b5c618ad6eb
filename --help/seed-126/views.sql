-- r.t126
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The open versions.
CREATE OR REPLACE VIEW r.t126_now AS
SELECT
    id, region, a, b, c, bucket, begins, ends, is_deleted
FROM r.t126 AS t
WHERE t.ends = 9999999999
    AND NOT t.is_deleted;

-- The versions valid at a time: SELECT * FROM r.t126_at(1).
CREATE OR REPLACE FUNCTION r.t126_at (at BIGINT)
RETURNS TABLE
RETURN
SELECT
    id, region, a, b, c, bucket, begins, ends, is_deleted
FROM r.t126 AS t
WHERE t.begins <= at
    AND t.ends > at
    AND NOT t.is_deleted;

-- Every version, and what the other versions of its key say.
CREATE OR REPLACE VIEW r.t126_all AS
SELECT
    t.id, t.region, t.a, t.b, t.c, t.bucket, t.begins, t.ends, t.is_deleted,
    MAX(_scd_since_b) OVER by_key AS since_of_b
FROM (
    -- Each version that begins a run of one value has its start, or the value before it.
    SELECT
        t.*,
        CASE
            WHEN LAG(STRUCT(t.b, NULLIF(t.ends, 9999999999) AS _scd_at)) OVER by_key
                <=> STRUCT(t.b, t.begins AS _scd_at)
                THEN NULL
            ELSE t.begins
        END AS _scd_since_b
    FROM r.t126 AS t
    WHERE NOT t.is_deleted
    WINDOW by_key AS (PARTITION BY t.id, t.region ORDER BY t.begins)
) AS t
WINDOW
    by_key AS (PARTITION BY t.id, t.region ORDER BY t.begins);
