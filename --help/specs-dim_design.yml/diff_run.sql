SELECT
    _scd_change,
    start_date AS _scd_since,
    _scd_old,
    _scd_new
FROM (
    SELECT
        COALESCE(o.region, n.region) AS region,
        COALESCE(o.customer_no, n.customer_no) AS customer_no,
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
            t.region, t.customer_no, t.start_date,
            t.end_date = DATE '9999-12-31' AS _scd_open,
            STRUCT(
                t.region, t.customer_no, t.name, t.address, CAST(NULL AS DATE) AS birth_date,
                t.customer_sk, t.start_date, t.end_date, t.current_flag, t.row_hash
            ) AS _scd_state,
            STRUCT(
                t.region, t.customer_no, t.name, t.address, CAST(NULL AS DATE) AS birth_date,
                t.customer_sk, t.start_date, t.end_date, t.current_flag, t.row_hash
            ) AS _scd_row
        FROM dwh.dim_customer VERSION AS OF 3 AS t
        WHERE t.region = CAST('1' AS STRING)
    ) AS o
    FULL OUTER JOIN (
        SELECT
            t.region, t.customer_no, t.start_date,
            t.end_date = DATE '9999-12-31' AS _scd_open,
            STRUCT(
                t.region, t.customer_no, t.name, t.address, t.birth_date, t.customer_sk, t.start_date,
                t.end_date, t.current_flag, t.row_hash
            ) AS _scd_state,
            STRUCT(
                t.region, t.customer_no, t.name, t.address, t.birth_date, t.customer_sk, t.start_date,
                t.end_date, t.current_flag, t.row_hash
            ) AS _scd_row
        FROM dwh.dim_customer VERSION AS OF 4 AS t
        WHERE t.region = CAST('1' AS STRING)
    ) AS n
        ON o.region <=> n.region AND o.customer_no <=> n.customer_no AND o.start_date <=> n.start_date
)
WHERE _scd_change IS NOT NULL
ORDER BY region, customer_no, start_date