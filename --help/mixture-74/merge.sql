-- crm.customer
-- Makes the table equal to a full extract: one row per key.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

CREATE OR REPLACE TEMPORARY VIEW _scd_source USING csv OPTIONS ('path' 'in/y', 'header' 'true', 'mode' 'FAILFAST', 'columnPruning' 'false', 'enforceSchema' 'false');

MERGE INTO crm.customer AS t USING (
    WITH source_rows AS (
        -- The source's rows, with the target's column names and types.
        SELECT
            CAST(id AS INT) AS id,
            CAST(region AS STRING) AS region,
            CAST(upper(full_name) AS STRING) AS name,
            CAST(town AS STRING) AS city,
            CAST(id % 3 AS INT) AS bucket,
            CAST(coalesce(started, happened) AS TIMESTAMP) AS _scd_at
        FROM _scd_source
        WHERE (a = 1 OR b
              = 2)
    ),
    extract AS (
        -- A row without a key or a time is left out.
        SELECT *
        FROM source_rows
        WHERE NOT (id IS NULL OR region IS NULL OR _scd_at IS NULL)
        DISTRIBUTE BY id, region -- one shuffle for the window and the join
    ),
    ranked AS (
        -- Exact copies of a row count once.
        SELECT
            *,
            LAG(STRUCT(name, city, bucket)) OVER by_key AS _scd_before
        FROM extract
        WINDOW by_key AS (PARTITION BY id, region ORDER BY _scd_at DESC)
    ),
    snapshot AS (
        -- One row per key; two rows that contradict each other stop the statement.
        SELECT
            id, region, name, city, bucket
        FROM ranked
        WHERE
            CASE
                WHEN _scd_before IS NULL THEN TRUE
                WHEN _scd_before <=> STRUCT(name, city, bucket) THEN FALSE
                ELSE RAISE_ERROR(
                    '[SCDGEN_CONFLICT] crm.customer: two different rows of one key and time: '
                    || TO_JSON(STRUCT(id, region, _scd_at))
                )
            END
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
        FULL OUTER JOIN crm.customer AS o
            ON n.id = o.id
            AND n.region = o.region
        WHERE o.id IS NULL
            OR n.id IS NULL
            OR n.id IS NOT NULL AND NOT (STRUCT(o.name, o.city, o.bucket) <=> STRUCT(n.name, n.city, n.bucket))
    ),
    staged AS (
        -- Rows to write; one that breaks a rule stops the statement.
        SELECT *
        FROM compared
        CROSS JOIN (
            SELECT COUNT(*) AS _scd_current
            FROM crm.customer AS t
        )
        WHERE
            CASE
                WHEN _scd_closing > 0.5 * _scd_current
                    THEN RAISE_ERROR(
                        '[SCDGEN_MAX_DELETED] crm.customer: ' || _scd_closing
                        || IF(_scd_closing = 1, ' key', ' keys') || ' deleted ('
                        || ROUND(100 * _scd_closing / _scd_current, 1) || ' %; limit 50 %)'
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
