-- crm.customer
-- Makes the table equal to a full extract: one row per key.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The partitions of the batch's keys; Delta skips the files of all others.
DECLARE OR REPLACE VARIABLE _scd_partitions_1 ARRAY<INT>;

SET VARIABLE _scd_partitions_1 = (SELECT COLLECT_SET(CAST(id % 3 AS INT)) FROM raw.rows);

MERGE INTO crm.customer AS t USING (
    WITH source_rows AS (
        -- The source's rows, with the target's column names and types.
        SELECT
            CAST(id AS INT) AS id,
            CAST(region AS STRING) AS region,
            CAST(name AS STRING) AS name,
            CAST(town AS STRING) AS city,
            CAST(id % 3 AS INT) AS bucket,
            CAST(happened AS TIMESTAMP) AS _scd_at
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
                WHEN _scd_at IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_TIME] crm.customer: happened is NULL')
                WHEN (bucket IS NULL OR ARRAY_CONTAINS(_scd_partitions_1, bucket)) THEN _scd_kept
                ELSE RAISE_ERROR('[SCDGEN_SOURCE_CHANGED] crm.customer: the source changed during the run')
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
            LAG(STRUCT(name, city, bucket)) OVER by_key AS _scd_before
        FROM extract
        WINDOW by_key AS (PARTITION BY id, region ORDER BY _scd_at DESC)
    ),
    snapshot AS (
        -- One row per key; two rows that contradict each other stop the statement.
        SELECT
            id, region, name, city, bucket,
            _scd_at AS updated
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
        -- Only keys that differ: new, or changed.
        SELECT
            CASE
                WHEN o.id IS NULL THEN 'insert'
                ELSE 'update'
            END AS _scd_action,
            COUNT_IF(n.id IS NULL) OVER () AS _scd_closing,
            COALESCE(n.id, o.id) AS id,
            COALESCE(n.region, o.region) AS region,
            n.name, n.city, n.bucket, n.updated
    FROM snapshot AS n
        LEFT JOIN (
            SELECT
                *,
                COALESCE(city = 'x', FALSE) AS _scd_in_scope
            FROM crm.customer AS t
        ) AS o
            ON n.id = o.id
            AND n.region = o.region
        WHERE o.id IS NULL
            OR n.id IS NOT NULL AND n.updated >= o.updated AND NOT (STRUCT(o.name, o.city, o.bucket, o.updated)
                <=> STRUCT(n.name, n.city, n.bucket, n.updated))
    ),
    staged AS (
        -- Rows to write; one that breaks a rule stops the statement.
        SELECT *
        FROM compared
        CROSS JOIN (
            SELECT COUNT(*) AS _scd_current
            FROM crm.customer AS t
            WHERE city = 'x'
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
    ON t.id = s.id AND t.region = s.region AND (t.bucket IS NULL OR ARRAY_CONTAINS(_scd_partitions_1, t.bucket))
-- A changed key.
WHEN MATCHED THEN
    UPDATE SET name = s.name, city = s.city, bucket = s.bucket, updated = s.updated
-- A new key.
WHEN NOT MATCHED THEN
    INSERT (id, region, name, city, bucket, updated)
    VALUES (s.id, s.region, s.name, s.city, s.bucket, s.updated);
