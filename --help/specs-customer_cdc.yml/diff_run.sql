SELECT
    _scd_change,
    valid_from AS _scd_since,
    _scd_old,
    _scd_new
FROM (
    SELECT
        COALESCE(o.company, n.company) AS company,
        COALESCE(o.customer_no, n.customer_no) AS customer_no,
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
            t.company, t.customer_no, t.valid_from,
            t.valid_to IS NULL AS _scd_open,
            STRUCT(
                t.company, t.customer_no, t.name, CAST(NULL AS STRING) AS city, t.valid_from,
                t.valid_to, t.is_current, t.action
            ) AS _scd_state,
            STRUCT(
                t.company, t.customer_no, t.name, CAST(NULL AS STRING) AS city, t.valid_from,
                t.valid_to, t.is_current, t.action
            ) AS _scd_row
        FROM crm.customer_cdc VERSION AS OF 3 AS t
        WHERE t.company = CAST('1' AS STRING)
    ) AS o
    FULL OUTER JOIN (
        SELECT
            t.company, t.customer_no, t.valid_from,
            t.valid_to IS NULL AS _scd_open,
            STRUCT(
                t.company, t.customer_no, t.name, t.city, t.valid_from, t.valid_to, t.is_current,
                t.action
            ) AS _scd_state,
            STRUCT(
                t.company, t.customer_no, t.name, t.city, t.valid_from, t.valid_to, t.is_current,
                t.action
            ) AS _scd_row
        FROM crm.customer_cdc VERSION AS OF 4 AS t
        WHERE t.company = CAST('1' AS STRING)
    ) AS n
        ON o.company <=> n.company AND o.customer_no <=> n.customer_no AND o.valid_from <=> n.valid_from
)
WHERE _scd_change IS NOT NULL
ORDER BY company, customer_no, valid_from