SELECT
    _scd_change,
    _scd_old,
    _scd_new
FROM (
    SELECT
        COALESCE(o.id, n.id) AS id,
        COALESCE(o.region, n.region) AS region,
        CASE
            WHEN o._scd_row IS NULL THEN 'new'
            WHEN n._scd_row IS NULL THEN 'deleted'
            WHEN NOT (o._scd_state <=> n._scd_state) THEN 'changed'
        END AS _scd_change,
        o._scd_row AS _scd_old,
        n._scd_row AS _scd_new
    FROM (
        SELECT
            t.id, t.region,
            STRUCT(t.id, t.region, t.name, t.city, CAST(NULL AS INT) AS bucket) AS _scd_state,
            STRUCT(t.id, t.region, t.name, t.city, CAST(NULL AS INT) AS bucket) AS _scd_row
        FROM crm.customer VERSION AS OF 3 AS t
        WHERE t.id = CAST('1' AS INT)
    ) AS o
    FULL OUTER JOIN (
        SELECT
            t.id, t.region,
            STRUCT(t.id, t.region, t.name, t.city, t.bucket) AS _scd_state,
            STRUCT(t.id, t.region, t.name, t.city, t.bucket) AS _scd_row
        FROM crm.customer VERSION AS OF 4 AS t
        WHERE t.id = CAST('1' AS INT)
    ) AS n
        ON o.id <=> n.id AND o.region <=> n.region
)
WHERE _scd_change IS NOT NULL
ORDER BY id, region