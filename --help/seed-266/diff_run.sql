SELECT
    _scd_change,
    begins AS _scd_since,
    _scd_old,
    _scd_new
FROM (
    SELECT
        COALESCE(o.id, n.id) AS id,
        COALESCE(o.begins, n.begins) AS begins,
        CASE
            WHEN o._scd_row IS NULL THEN 'opened'
            WHEN n._scd_row IS NULL THEN 'folded'
            WHEN NOT (o._scd_state <=> n._scd_state) THEN IF(o._scd_open AND NOT n._scd_open, 'closed', 'corrected')
        END AS _scd_change,
        o._scd_row AS _scd_old,
        n._scd_row AS _scd_new
    FROM (
        SELECT
            t.id, t.begins,
            t.current_flag = 'Y' AS _scd_open,
            STRUCT(
                t.id, t.a, t.b, CAST(NULL AS STRING) AS c, t.the_surrogate_key, t.begins,
                CASE WHEN NOT (t.current_flag = 'Y') THEN t.ends END AS ends, t.current_flag,
                t.the_row_hash
            ) AS _scd_state,
            STRUCT(
                t.id, t.a, t.b, CAST(NULL AS STRING) AS c, t.the_surrogate_key, t.begins, t.ends,
                t.current_flag, t.the_row_hash
            ) AS _scd_row
        FROM r.t266 VERSION AS OF 3 AS t
        WHERE t.id = CAST('1' AS INT)
    ) AS o
    FULL OUTER JOIN (
        SELECT
            t.id, t.begins,
            t.current_flag = 'Y' AS _scd_open,
            STRUCT(
                t.id, t.a, t.b, t.c, t.the_surrogate_key, t.begins,
                CASE WHEN NOT (t.current_flag = 'Y') THEN t.ends END AS ends, t.current_flag,
                t.the_row_hash
            ) AS _scd_state,
            STRUCT(
                t.id, t.a, t.b, t.c, t.the_surrogate_key, t.begins, t.ends, t.current_flag,
                t.the_row_hash
            ) AS _scd_row
        FROM r.t266 VERSION AS OF 4 AS t
        WHERE t.id = CAST('1' AS INT)
    ) AS n
        ON o.id <=> n.id AND o.begins <=> n.begins
)
WHERE _scd_change IS NOT NULL
ORDER BY id, begins