-- crm.`odd ``name`: What {they} are: it's "so"
-- Makes the keys of the table those of a full extract; column by column the values become one.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

CREATE OR REPLACE TEMPORARY VIEW _scd_source USING json OPTIONS ('path' 'in/x', 'mode' 'FAILFAST', 'multiLine' 'true');

MERGE INTO crm.`odd ``name` AS t USING (
    WITH source_rows AS (
        -- The source's rows, with the target's column names and types.
        SELECT
            CAST(id AS INT) AS id,
            CAST(region AS STRING) AS region,
            RPAD(CAST(name AS STRING), GREATEST(3, LENGTH(CAST(name AS STRING)))) AS name,
            CAST(town AS STRING) AS city,
            CAST(id % 3 AS INT) AS bucket
        FROM _scd_source
    ),
    extract AS (
        -- A row without a key is left out.
        SELECT *
        FROM source_rows
        WHERE NOT (id IS NULL OR region IS NULL)
        UNION ALL
        -- An empty extract would close every version, so it stops the statement.
        SELECT
            RAISE_ERROR('[SCDGEN_EMPTY_SNAPSHOT] crm.`odd ``name`: the snapshot is empty'),
            NULL, NULL, NULL, NULL
        WHERE NOT EXISTS (SELECT 1 FROM source_rows WHERE NOT (id IS NULL OR region IS NULL))
        DISTRIBUTE BY id, region -- one shuffle for the window and the join
    ),
    ranked AS (
        -- The rows of each key, the newest first.
        SELECT
            *,
            ROW_NUMBER() OVER by_key AS _scd_row
        FROM extract
        WINDOW by_key AS (PARTITION BY id, region ORDER BY STRUCT(name, city, bucket))
    ),
    snapshot AS (
        -- One row per key.
        SELECT
            id, region,
            MAX(name) AS name,
            MAX_BY(city, STRUCT(STRUCT(city, bucket))) AS city,
            MAX_BY(bucket, STRUCT(STRUCT(city, bucket))) AS bucket
        FROM ranked
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
        FULL OUTER JOIN crm.`odd ``name` AS o
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
