SELECT
    _scd_change,
    CASE WHEN _scd_new IS NULL THEN _scd_end ELSE _scd_start END AS _scd_since,
    _scd_old,
    _scd_new
FROM (
    SELECT
        *,
        CASE
            WHEN _scd_old IS NULL AND _scd_new IS NULL THEN NULL
            WHEN _scd_old IS NULL THEN IF(_scd_known, 'returned', 'new')
            WHEN _scd_new IS NULL THEN 'deleted'
            WHEN NOT (STRUCT(
                _scd_old.id, coalesce(_scd_old.a, '') AS a, _scd_old.b, _scd_old.c, _scd_old.bucket
            )
                <=> STRUCT(
                    _scd_new.id, coalesce(_scd_new.a, '') AS a, _scd_new.b, _scd_new.c, _scd_new.bucket
                )) THEN 'changed'
        END AS _scd_change
    FROM (
        -- One row per key: the values at the two times, and the start and end of the last version by then.
        SELECT
            t.id,
            MAX_BY(STRUCT(t.id, t.a, t.b, t.c, t.bucket), t.begins) FILTER (WHERE t.begins <= CAST('2024-01-01' AS DATE) AND (t.ends IS NULL OR t.ends > CAST('2024-01-01' AS DATE) - INTERVAL '1' DAY)) AS _scd_old,
            MAX_BY(STRUCT(t.id, t.a, t.b, t.c, t.bucket), t.begins) FILTER (WHERE t.begins <= CAST('2024-02-01' AS DATE) AND (t.ends IS NULL OR t.ends > CAST('2024-02-01' AS DATE) - INTERVAL '1' DAY)) AS _scd_new,
            COUNT_IF(t.begins <= CAST('2024-01-01' AS DATE)) > 0 AS _scd_known,
            MAX(t.begins) FILTER (WHERE t.begins <= CAST('2024-02-01' AS DATE)) AS _scd_start,
            MAX(t.ends + INTERVAL '1' DAY) FILTER (WHERE t.begins <= CAST('2024-02-01' AS DATE)) AS _scd_end
        FROM r.t41 AS t
        GROUP BY t.id
    )
)
WHERE _scd_change IS NOT NULL
ORDER BY id