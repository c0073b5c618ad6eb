SELECT
    _scd_change,
    valid_from AS _scd_since,
    _scd_old,
    _scd_new
FROM (
    SELECT
        COALESCE(o.id, n.id) AS id,
        COALESCE(o.region, n.region) AS region,
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
            t.id, t.region, t.valid_from,
            t.valid_to IS NULL AS _scd_open,
            STRUCT(
                t.id, t.region, t.name, t.city, CAST(NULL AS INT) AS bucket, t.valid_from, t.valid_to,
                t.is_current
            ) AS _scd_state,
            STRUCT(
                t.id, t.region, t.name, t.city, CAST(NULL AS INT) AS bucket, t.valid_from, t.valid_to,
                t.is_current
            ) AS _scd_row
        FROM crm.`odd ``name` VERSION AS OF 3 AS t
        WHERE t.id = CAST('1' AS INT)
    ) AS o
    FULL OUTER JOIN (
        SELECT
            t.id, t.region, t.valid_from,
            t.valid_to IS NULL AS _scd_open,
            STRUCT(t.id, t.region, t.name, t.city, t.bucket, t.valid_from, t.valid_to, t.is_current) AS _scd_state,
            STRUCT(t.id, t.region, t.name, t.city, t.bucket, t.valid_from, t.valid_to, t.is_current) AS _scd_row
        FROM crm.`odd ``name` VERSION AS OF 4 AS t
        WHERE t.id = CAST('1' AS INT)
    ) AS n
        ON o.id <=> n.id AND o.region <=> n.region AND o.valid_from <=> n.valid_from
)
WHERE _scd_change IS NOT NULL
ORDER BY id, region, valid_from