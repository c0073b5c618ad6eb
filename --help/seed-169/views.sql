-- r.t169: it's \ number 169 -- of */ many
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The open versions.
CREATE OR REPLACE VIEW r.t169_now AS
SELECT
    id, a, b, c, bucket, the_surrogate_key, begins, ends, is_current, the_action
FROM r.t169 AS t
WHERE t.ends = DATE '9999-12-31';

-- The versions valid at a time: SELECT * FROM r.t169_at(DATE '2024-01-01').
CREATE OR REPLACE FUNCTION r.t169_at (at DATE)
RETURNS TABLE
RETURN
SELECT
    id, a, b, c, bucket, the_surrogate_key, begins, ends, is_current, the_action
FROM r.t169 AS t
WHERE t.begins <= at
    AND t.ends > at;

-- Every version, and what the other versions of its key say.
CREATE OR REPLACE VIEW r.t169_all AS
SELECT
    t.id, t.a, t.b, t.c, t.bucket, t.the_surrogate_key, t.begins, t.ends, t.is_current, t.the_action,
    FIRST_VALUE(t.b) OVER by_key AS first_of_b,
    FIRST_VALUE(t.a) OVER by_key AS first_of_a,
    LAST_VALUE(CASE WHEN t.ends = DATE '9999-12-31' THEN t.b END) OVER whole_key AS current_of_b,
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
            WHEN LAG(STRUCT(t.a, NULLIF(t.ends, DATE '9999-12-31') AS _scd_at)) OVER by_key
                <=> STRUCT(t.a, t.begins AS _scd_at)
                THEN NULL
            ELSE t.begins
        END AS _scd_since_a
    FROM r.t169 AS t
    WINDOW by_key AS (PARTITION BY t.id ORDER BY t.begins)
) AS t
WINDOW
    by_key AS (PARTITION BY t.id ORDER BY t.begins),
    whole_key AS (PARTITION BY t.id ORDER BY t.begins ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING);
