SELECT
    _scd_change,
    valid_from AS _scd_since,
    _scd_old,
    _scd_new
FROM (
    SELECT
        COALESCE(o.order_id, n.order_id) AS order_id,
        COALESCE(o.valid_from, n.valid_from) AS valid_from,
        CASE
            WHEN o._scd_row IS NULL THEN 'opened'
            WHEN n._scd_row IS NULL THEN 'folded'
            WHEN NOT (o._scd_state <=> n._scd_state) THEN IF(o._scd_open AND NOT n._scd_open, 'closed', 'corrected')
        END AS _scd_change,
        o._scd_row AS _scd_old,
        n._scd_row AS _scd_new
    FROM (
        SELECT
            t.order_id, t.valid_from,
            t.valid_to IS NULL AS _scd_open,
            STRUCT(
                t.order_id, t.status, CAST(NULL AS STRING) AS note, t.valid_from, t.valid_to,
                t.is_current, t.action
            ) AS _scd_state,
            STRUCT(
                t.order_id, t.status, CAST(NULL AS STRING) AS note, t.valid_from, t.valid_to,
                t.is_current, t.action
            ) AS _scd_row
        FROM shop.orders VERSION AS OF 3 AS t
        WHERE t.order_id = CAST('1' AS INT)
    ) AS o
    FULL OUTER JOIN (
        SELECT
            t.order_id, t.valid_from,
            t.valid_to IS NULL AS _scd_open,
            STRUCT(t.order_id, t.status, t.note, t.valid_from, t.valid_to, t.is_current, t.action) AS _scd_state,
            STRUCT(t.order_id, t.status, t.note, t.valid_from, t.valid_to, t.is_current, t.action) AS _scd_row
        FROM shop.orders VERSION AS OF 4 AS t
        WHERE t.order_id = CAST('1' AS INT)
    ) AS n
        ON o.order_id <=> n.order_id AND o.valid_from <=> n.valid_from
)
WHERE _scd_change IS NOT NULL
ORDER BY order_id, valid_from