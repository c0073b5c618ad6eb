SELECT
    _scd_change,
    effective_ts AS _scd_since,
    _scd_old,
    _scd_new
FROM (
    SELECT
        COALESCE(o.customer_no, n.customer_no) AS customer_no,
        COALESCE(o.effective_ts, n.effective_ts) AS effective_ts,
        CASE
            WHEN o._scd_row IS NULL THEN 'opened'
            WHEN n._scd_row IS NULL THEN 'folded'
            WHEN NOT (o._scd_state <=> n._scd_state) THEN IF(o._scd_open AND NOT n._scd_open, 'closed', 'corrected')
        END AS _scd_change,
        o._scd_row AS _scd_old,
        n._scd_row AS _scd_new
    FROM (
        SELECT
            t.customer_no, t.effective_ts,
            t.expiry_ts = TIMESTAMP '9999-12-31 23:59:59.999' AS _scd_open,
            STRUCT(
                t.customer_no, CAST(NULL AS STRING) AS name, t.effective_ts, t.expiry_ts, t.is_current
            ) AS _scd_state,
            STRUCT(
                t.customer_no, CAST(NULL AS STRING) AS name, t.effective_ts, t.expiry_ts, t.is_current
            ) AS _scd_row
        FROM crm.customer_full VERSION AS OF 3 AS t
        WHERE t.customer_no = CAST('1' AS STRING)
    ) AS o
    FULL OUTER JOIN (
        SELECT
            t.customer_no, t.effective_ts,
            t.expiry_ts = TIMESTAMP '9999-12-31 23:59:59.999' AS _scd_open,
            STRUCT(t.customer_no, t.name, t.effective_ts, t.expiry_ts, t.is_current) AS _scd_state,
            STRUCT(t.customer_no, t.name, t.effective_ts, t.expiry_ts, t.is_current) AS _scd_row
        FROM crm.customer_full VERSION AS OF 4 AS t
        WHERE t.customer_no = CAST('1' AS STRING)
    ) AS n
        ON o.customer_no <=> n.customer_no AND o.effective_ts <=> n.effective_ts
)
WHERE _scd_change IS NOT NULL
ORDER BY customer_no, effective_ts