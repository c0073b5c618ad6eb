-- r.t253
-- Views of the table.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- Every version, and what the other versions of its key say.
CREATE OR REPLACE VIEW r.t253_all AS
SELECT
    t.id, t.a, t.b, t.c, t.the_surrogate_key, t.begins, t.ends, t.current_flag, t.the_action, t.is_deleted,
    LAST_VALUE(CASE WHEN t.current_flag = 'Y' THEN t.a END) OVER whole_key AS current_of_a,
    MAX(_scd_since_a) OVER by_key AS since_of_a,
    FIRST_VALUE(t.a) OVER by_key AS first_of_a,
    (LAST_VALUE(_scd_previous_a) IGNORE NULLS OVER by_key).a AS previous_of_a,
    MAX(_scd_since_b) OVER by_key AS since_of_b
FROM (
    -- Each version that begins a run of one value has its start, or the value before it.
    SELECT
        t.*,
        CASE
            WHEN LAG(STRUCT(
                t.a = 'x' AS a, CASE WHEN NOT (t.current_flag = 'Y') THEN t.ends + 10 END AS _scd_at
            )) OVER by_key
                <=> STRUCT(t.a = 'x' AS a, t.begins AS _scd_at)
                THEN NULL
            ELSE t.begins
        END AS _scd_since_a,
        CASE
            WHEN LAG(STRUCT(t.a = 'x' AS a)) OVER by_key <=> STRUCT(t.a = 'x' AS a) THEN NULL
            ELSE STRUCT(LAG(t.a) OVER by_key AS a)
        END AS _scd_previous_a,
        CASE
            WHEN LAG(STRUCT(t.b, CASE WHEN NOT (t.current_flag = 'Y') THEN t.ends + 10 END AS _scd_at)) OVER by_key
                <=> STRUCT(t.b, t.begins AS _scd_at)
                THEN NULL
            ELSE t.begins
        END AS _scd_since_b
    FROM r.t253 AS t
    WHERE NOT t.is_deleted
    WINDOW by_key AS (PARTITION BY t.id ORDER BY t.begins)
) AS t
WINDOW
    by_key AS (PARTITION BY t.id ORDER BY t.begins),
    whole_key AS (PARTITION BY t.id ORDER BY t.begins ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING);
