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
            WHEN NOT (STRUCT(_scd_old.id, _scd_old.region, _scd_old.name, _scd_old.city, _scd_old.bucket)
                <=> STRUCT(_scd_new.id, _scd_new.region, _scd_new.name, _scd_new.city, _scd_new.bucket)) THEN 'changed'
        END AS _scd_change
    FROM (
        -- One row per key: the values at the two times, and the start and end of the last version by then.
        SELECT
            t.id, t.region,
            MAX_BY(STRUCT(t.id, t.region, t.name, t.city, t.bucket), t.valid_from) FILTER (WHERE t.valid_from <= CAST('2024-01-01' AS TIMESTAMP) AND (t.valid_to IS NULL OR t.valid_to > CAST('2024-01-01' AS TIMESTAMP))) AS _scd_old,
            MAX_BY(STRUCT(t.id, t.region, t.name, t.city, t.bucket), t.valid_from) FILTER (WHERE t.valid_from <= CAST('2024-02-01' AS TIMESTAMP) AND (t.valid_to IS NULL OR t.valid_to > CAST('2024-02-01' AS TIMESTAMP))) AS _scd_new,
            COUNT_IF(t.valid_from <= CAST('2024-01-01' AS TIMESTAMP)) > 0 AS _scd_known,
            MAX(t.valid_from) FILTER (WHERE t.valid_from <= CAST('2024-02-01' AS TIMESTAMP)) AS _scd_start,
            MAX(t.valid_to) FILTER (WHERE t.valid_from <= CAST('2024-02-01' AS TIMESTAMP)) AS _scd_end
        FROM crm.customer AS t
        GROUP BY t.id, t.region
    )
)
WHERE _scd_change IS NOT NULL
ORDER BY id, region