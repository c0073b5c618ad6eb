-- r.t44: it's \ number 44 -- of */ many
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- Every version, and what the other versions of its key say.
CREATE OR REPLACE VIEW r.t44_all AS
WITH neighbours AS (
    -- A version continues the one before it if both are equal and nothing lies between them.
    SELECT
        t.*,
        NOT (
            LAG(STRUCT(t.a = 'x' AS a, t.ends AS _scd_at)) OVER by_key
                <=> STRUCT(t.a = 'x' AS a, t.begins AS _scd_at)
        ) AS _scd_opens
    FROM r.t44 AS t
    WINDOW by_key AS (PARTITION BY t.id, t.region ORDER BY t.begins)
),
runs AS (
    -- Equal neighbours share a number.
    SELECT
        *,
        COUNT_IF(_scd_opens) OVER (PARTITION BY id, region ORDER BY begins) AS _scd_run
    FROM neighbours
),
folded AS (
    -- One version of each number: the first start, the last end.
    SELECT
        r.id, r.region,
        MIN_BY(r.a, r.begins) AS a,
        MAX_BY(r.b, r.begins) AS b,
        MAX_BY(r.c, r.begins) AS c,
        MAX_BY(r.bucket, r.begins) AS bucket,
        MIN_BY(r.begins, r.begins) AS begins,
        MAX_BY(r.ends, r.begins) AS ends,
        MAX_BY(r.the_row_hash, r.begins) AS the_row_hash
    FROM runs AS r
    GROUP BY r.id, r.region, _scd_run
)
SELECT
    t.id, t.region, t.a, t.b, t.c, t.bucket, t.begins, t.ends, t.the_row_hash,
    LAST_VALUE(CASE WHEN t.ends IS NULL THEN t.b END) OVER whole_key AS current_of_b,
    LAST_VALUE(CASE WHEN t.ends IS NULL THEN t.a END) OVER whole_key AS current_of_a
FROM folded AS t
WINDOW
    whole_key AS (PARTITION BY t.id, t.region ORDER BY t.begins ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING);
