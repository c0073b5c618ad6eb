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
            t.is_current AS _scd_open,
            STRUCT(
                t.id, t.a, t.b, CAST(NULL AS STRING) AS c, t.the_surrogate_key, t.begins,
                CASE WHEN NOT t.is_current THEN t.ends + INTERVAL '1' MILLISECOND END AS ends,
                t.is_current, t.the_row_hash, t.the_action, t.is_deleted
            ) AS _scd_state,
            STRUCT(
                t.id, t.a, t.b, CAST(NULL AS STRING) AS c, t.the_surrogate_key, t.begins, t.ends,
                t.is_current, t.the_row_hash, t.the_action, t.is_deleted
            ) AS _scd_row
        FROM r.t284 VERSION AS OF 3 AS t
        WHERE t.id = CAST('1' AS INT)
    ) AS o
    FULL OUTER JOIN (
        SELECT
            t.id, t.begins,
            t.is_current AS _scd_open,
            STRUCT(
                t.id, t.a, t.b, t.c, t.the_surrogate_key, t.begins,
                CASE WHEN NOT t.is_current THEN t.ends + INTERVAL '1' MILLISECOND END AS ends,
                t.is_current, t.the_row_hash, t.the_action, t.is_deleted
            ) AS _scd_state,
            STRUCT(
                t.id, t.a, t.b, t.c, t.the_surrogate_key, t.begins, t.ends, t.is_current,
                t.the_row_hash, t.the_action, t.is_deleted
            ) AS _scd_row
        FROM r.t284 VERSION AS OF 4 AS t
        WHERE t.id = CAST('1' AS INT)
    ) AS n
        ON o.id <=> n.id AND o.begins <=> n.begins
)
WHERE _scd_change IS NOT NULL
ORDER BY id, begins