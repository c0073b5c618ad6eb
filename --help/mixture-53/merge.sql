-- crm.customer: Other
-- Makes the table equal to a full extract: one row per key.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.
-- Set before this runs: DECLARE OR REPLACE VARIABLE since DATE DEFAULT ...;

MERGE INTO crm.customer AS t USING (
    WITH source_rows AS (
        -- The source's rows, with the target's column names and types.
        SELECT
            CAST(id AS INT) AS id,
            CAST(region AS STRING) AS region,
            CAST(name AS STRING) AS name,
            CAST(town AS STRING) AS city,
            CAST(id % 3 AS INT) AS bucket,
            CAST(coalesce(started, happened) AS TIMESTAMP) AS _scd_at
        FROM parquet.`in/x`
        WHERE happened > session.since
    ),
    extract AS (
        -- A row that breaks a rule stops the statement. EXPLODE: rows that the source leaves out are not tested.
        SELECT *
        FROM source_rows LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
        WHERE
            CASE
                WHEN id IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] crm.customer: id is NULL')
                WHEN region IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] crm.customer: region is NULL')
                WHEN _scd_at IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_TIME] crm.customer: effective_at is NULL')
                ELSE _scd_kept
            END
        UNION ALL
        -- An empty extract would close every version, so it stops the statement.
        SELECT
            RAISE_ERROR('[SCDGEN_EMPTY_SNAPSHOT] crm.customer: the snapshot is empty'),
            NULL, NULL, NULL, NULL, NULL, NULL
        WHERE NOT EXISTS (SELECT 1 FROM source_rows)
        DISTRIBUTE BY id, region -- one shuffle for the window and the join
    ),
    ranked AS (
        -- Exact copies of a row count once.
        SELECT
            *,
            ROW_NUMBER() OVER by_key AS _scd_row
        FROM extract
        WINDOW by_key AS (PARTITION BY id, region ORDER BY _scd_at DESC, STRUCT(name, city, bucket))
    ),
    snapshot AS (
        -- One row per key; of different rows any one counts.
        SELECT
            id, region, name, city, bucket
        FROM ranked
        WHERE _scd_row = 1
    ),
    compared AS (
        -- Only keys that differ: missing from the extract, new, or changed.
        SELECT
            CASE
                WHEN o.id IS NULL THEN 'insert'
                WHEN n.id IS NULL THEN 'delete'
                ELSE 'update'
            END AS _scd_action,
            COUNT_IF(n.id IS NULL) OVER () AS _scd_closing,
            COALESCE(n.id, o.id) AS id,
            COALESCE(n.region, o.region) AS region,
            n.name, n.city, n.bucket
    FROM snapshot AS n
        FULL OUTER JOIN (
            SELECT
                *,
                COALESCE((city = 'y' OR city IS NULL), FALSE) AS _scd_in_scope
            FROM crm.customer AS t
        ) AS o
            ON n.id = o.id
            AND n.region = o.region
        WHERE o.id IS NULL
            OR n.id IS NULL AND o._scd_in_scope
            OR n.id IS NOT NULL AND NOT (STRUCT(o.name, o.city, o.bucket) <=> STRUCT(n.name, n.city, n.bucket))
    ),
    staged AS (
        -- Rows to write; one that breaks a rule stops the statement.
        SELECT *
        FROM compared
        CROSS JOIN (
            SELECT COUNT(*) AS _scd_current
            FROM crm.customer AS t
            WHERE (city = 'y' OR city IS NULL)
        )
        WHERE
            CASE
                WHEN _scd_closing > 0.25 * _scd_current
                    THEN RAISE_ERROR(
                        '[SCDGEN_MAX_DELETED] crm.customer: ' || _scd_closing
                        || IF(_scd_closing = 1, ' key', ' keys') || ' deleted ('
                        || ROUND(100 * _scd_closing / _scd_current, 1) || ' %; limit 25 %)'
                    )
                ELSE TRUE
            END
    )
    SELECT * FROM staged
) AS s
    -- A key identifies a row.
    ON t.id = s.id AND t.region = s.region
-- A key that the extract lacks.
WHEN MATCHED AND s._scd_action = 'delete' THEN
    DELETE
-- A changed key.
WHEN MATCHED THEN
    UPDATE SET name = s.name, city = s.city, bucket = s.bucket
-- A new key.
WHEN NOT MATCHED THEN
    INSERT (id, region, name, city, bucket)
    VALUES (s.id, s.region, s.name, s.city, s.bucket);
