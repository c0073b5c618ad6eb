-- crm.customer
-- Makes the keys of the table those of a full extract; column by column the values become one.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

MERGE INTO crm.customer AS t USING (
    WITH source_rows AS (
        -- The source's rows, with the target's column names and types.
        SELECT
            CAST(id AS INT) AS id,
            CAST(region AS STRING) AS region,
            CAST(name AS STRING) AS name,
            CAST(town AS STRING) AS city,
            CAST(id % 3 AS INT) AS bucket
        FROM raw.rows
    ),
    extract AS (
        -- A row that breaks a rule stops the statement. EXPLODE: rows that the source leaves out are not tested.
        SELECT *
        FROM source_rows LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
        WHERE
            CASE
                WHEN id IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] crm.customer: id is NULL')
                WHEN region IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] crm.customer: region is NULL')
                ELSE _scd_kept
            END
        UNION ALL
        -- An empty extract would close every version, so it stops the statement.
        SELECT
            RAISE_ERROR('[SCDGEN_EMPTY_SNAPSHOT] crm.customer: the snapshot is empty'),
            NULL, NULL, NULL, NULL, NULL
        WHERE NOT EXISTS (SELECT 1 FROM source_rows)
        DISTRIBUTE BY id, region -- one shuffle for the window and the join
    ),
    ranked AS (
        -- The rows of each key, the newest first.
        SELECT
            *,
            STRUCT(city, bucket) <=> FIRST_VALUE(STRUCT(city, bucket)) OVER ties AS _scd_agrees,
            ROW_NUMBER() OVER by_key AS _scd_row
        FROM extract
        WINDOW
            by_key AS (PARTITION BY id, region ORDER BY id, region),
            ties AS (
                PARTITION BY id, region ORDER BY id, region
                RANGE BETWEEN CURRENT ROW AND CURRENT ROW
            )
    ),
    snapshot AS (
        -- One row per key; two rows that contradict each other stop the statement.
        SELECT
            id, region,
            MAX(name) AS name,
            MAX_BY(city, city) AS city,
            MAX_BY(bucket, bucket) AS bucket
        FROM ranked
        WHERE
            CASE
                WHEN _scd_agrees THEN TRUE
                ELSE RAISE_ERROR(
                    '[SCDGEN_CONFLICT] crm.customer: two different rows of one key: '
                    || TO_JSON(STRUCT(id, region))
                )
            END
        GROUP BY id, region
    ),
    compared AS (
        -- Only keys that differ: missing from the extract, new, or changed.
        SELECT
            CASE
                WHEN o.id IS NULL THEN 'insert'
                WHEN n.id IS NULL THEN 'delete'
                ELSE 'update'
            END AS _scd_action,
            COALESCE(n.id, o.id) AS id,
            COALESCE(n.region, o.region) AS region,
            CASE WHEN o.id IS NULL THEN n.name ELSE GREATEST(o.name, n.name) END AS name,
            CASE WHEN o.id IS NULL THEN n.city ELSE n.city END AS city,
            CASE WHEN o.id IS NULL THEN n.bucket ELSE n.bucket END AS bucket
    FROM snapshot AS n
        FULL OUTER JOIN crm.customer AS o
            ON n.id = o.id
            AND n.region = o.region
        WHERE o.id IS NULL
            OR n.id IS NULL
            OR n.id IS NOT NULL AND NOT (STRUCT(o.name, o.city, o.bucket)
                <=> STRUCT(GREATEST(o.name, n.name) AS name, n.city, n.bucket))
    ),
    staged AS (
        -- Rows to write.
        SELECT *
        FROM compared
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
