SELECT
    _scd_change,
    start_date AS _scd_since,
    _scd_old,
    _scd_new
FROM (
    SELECT
        COALESCE(o.id, n.id) AS id,
        COALESCE(o.start_date, n.start_date) AS start_date,
        CASE
            WHEN o._scd_row IS NULL THEN 'opened'
            WHEN n._scd_row IS NULL THEN 'folded'
            WHEN NOT (o._scd_state <=> n._scd_state) THEN IF(o._scd_open AND NOT n._scd_open, 'closed', 'corrected')
        END AS _scd_change,
        o._scd_row AS _scd_old,
        n._scd_row AS _scd_new
    FROM (
        SELECT
            t.id, t.start_date,
            t.end_date IS NULL AS _scd_open,
            STRUCT(
                t.id, t.name, CAST(NULL AS STRING) AS address, t.start_date, t.end_date, t.is_current
            ) AS _scd_state,
            STRUCT(
                t.id, t.name, CAST(NULL AS STRING) AS address, t.start_date, t.end_date, t.is_current
            ) AS _scd_row
        FROM crm.customer_address VERSION AS OF 3 AS t
        WHERE t.id = CAST('1' AS INT)
    ) AS o
    FULL OUTER JOIN (
        SELECT
            t.id, t.start_date,
            t.end_date IS NULL AS _scd_open,
            STRUCT(t.id, t.name, t.address, t.start_date, t.end_date, t.is_current) AS _scd_state,
            STRUCT(t.id, t.name, t.address, t.start_date, t.end_date, t.is_current) AS _scd_row
        FROM crm.customer_address VERSION AS OF 4 AS t
        WHERE t.id = CAST('1' AS INT)
    ) AS n
        ON o.id <=> n.id AND o.start_date <=> n.start_date
)
WHERE _scd_change IS NOT NULL
ORDER BY id, start_date