SELECT
    _scd_change,
    _scd_old,
    _scd_new
FROM (
    SELECT
        COALESCE(o.customer_id, n.customer_id) AS customer_id,
        CASE
            WHEN o._scd_row IS NULL THEN 'new'
            WHEN n._scd_row IS NULL THEN 'deleted'
            WHEN NOT (o._scd_state <=> n._scd_state) THEN 'changed'
        END AS _scd_change,
        o._scd_row AS _scd_old,
        n._scd_row AS _scd_new
    FROM (
        SELECT
            t.customer_id,
            STRUCT(t.customer_id, t.channel, t.campaign, CAST(NULL AS TIMESTAMP) AS contacted_at) AS _scd_state,
            STRUCT(t.customer_id, t.channel, t.campaign, CAST(NULL AS TIMESTAMP) AS contacted_at) AS _scd_row
        FROM crm.first_contact VERSION AS OF 3 AS t
        WHERE t.customer_id = CAST('1' AS INT)
    ) AS o
    FULL OUTER JOIN (
        SELECT
            t.customer_id,
            STRUCT(t.customer_id, t.channel, t.campaign, t.contacted_at) AS _scd_state,
            STRUCT(t.customer_id, t.channel, t.campaign, t.contacted_at) AS _scd_row
        FROM crm.first_contact VERSION AS OF 4 AS t
        WHERE t.customer_id = CAST('1' AS INT)
    ) AS n
        ON o.customer_id <=> n.customer_id
)
WHERE _scd_change IS NOT NULL
ORDER BY customer_id