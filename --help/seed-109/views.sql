-- r.t109
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- Every version, and what the other versions of its key say.
CREATE OR REPLACE VIEW r.t109_all AS
WITH neighbours AS (
    -- A version continues the one before it if both are equal and nothing lies between them.
    SELECT
        t.*,
        NOT (
            LAG(STRUCT(t.b, t.c, CASE WHEN NOT (t.current_flag = 'Y') THEN t.ends END AS _scd_at)) OVER by_key
                <=> STRUCT(t.b, t.c, t.begins AS _scd_at)
        ) AS _scd_opens
    FROM r.t109 AS t
    WINDOW by_key AS (PARTITION BY t.id ORDER BY t.begins)
),
runs AS (
    -- Equal neighbours share a number.
    SELECT
        *,
        COUNT_IF(_scd_opens) OVER (PARTITION BY id ORDER BY begins) AS _scd_run
    FROM neighbours
),
folded AS (
    -- One version of each number: the first start, the last end.
    SELECT
        r.id,
        MAX_BY(r.a, r.begins) AS a,
        MAX_BY(r.b, r.begins) AS b,
        MAX_BY(r.c, r.begins) AS c,
        MAX_BY(r.bucket, r.begins) AS bucket,
        MIN_BY(r.begins, r.begins) AS begins,
        MAX_BY(r.ends, r.begins) AS ends,
        MAX_BY(r.current_flag, r.begins) AS current_flag
    FROM runs AS r
    GROUP BY r.id, _scd_run
)
SELECT
    t.id, t.a, t.b, t.c, t.bucket, t.begins, t.ends, t.current_flag,
    LAST_VALUE(CASE WHEN t.current_flag = 'Y' THEN t.a END) OVER whole_key AS current_of_a,
    FIRST_VALUE(t.b) OVER by_key AS first_of_b,
    MAX(_scd_since_b) OVER by_key AS since_of_b,
    LAST_VALUE(CASE WHEN t.current_flag = 'Y' THEN t.b END) OVER whole_key AS current_of_b,
    FIRST_VALUE(t.a) OVER by_key AS first_of_a,
    (LAST_VALUE(_scd_previous_b) IGNORE NULLS OVER by_key).b AS previous_of_b
FROM (
    -- Each version that begins a run of one value has its start, or the value before it.
    SELECT
        t.*,
        CASE
            WHEN LAG(STRUCT(t.b, CASE WHEN NOT (t.current_flag = 'Y') THEN t.ends END AS _scd_at)) OVER by_key
                <=> STRUCT(t.b, t.begins AS _scd_at)
                THEN NULL
            ELSE t.begins
        END AS _scd_since_b,
        CASE
            WHEN LAG(STRUCT(t.b)) OVER by_key <=> STRUCT(t.b) THEN NULL
            ELSE STRUCT(LAG(t.b) OVER by_key AS b)
        END AS _scd_previous_b
    FROM folded AS t
    WINDOW by_key AS (PARTITION BY t.id ORDER BY t.begins)
) AS t
WINDOW
    by_key AS (PARTITION BY t.id ORDER BY t.begins),
    whole_key AS (PARTITION BY t.id ORDER BY t.begins ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING);
