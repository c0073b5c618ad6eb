-- crm.customer: Other
-- Keeps one row per key, column by column: the last, first, least or greatest value.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

CREATE OR REPLACE TEMPORARY VIEW _scd_source USING json OPTIONS ('path' 'in/x', 'mode' 'FAILFAST', 'multiLine' 'false');

-- The partitions of the batch's keys; Delta skips the files of all others.
DECLARE OR REPLACE VARIABLE _scd_partitions_1 ARRAY<INT>;

SET VARIABLE _scd_partitions_1 = (
    SELECT COLLECT_SET(CAST(id % 3 AS INT))
    FROM _scd_source
    WHERE (a = 1 OR b
          = 2)
);

MERGE INTO crm.customer AS t USING (
    WITH source_rows AS (
        -- The source's rows, with the target's column names and types.
        SELECT
            CAST(id AS INT) AS id,
            CAST(region AS STRING) AS region,
            CAST(name AS STRING) AS name,
            CAST(town AS STRING) AS city,
            CAST(id % 3 AS INT) AS bucket,
            COALESCE(op = 'D', FALSE) AS _scd_deleted
        FROM _scd_source
        WHERE (a = 1 OR b
              = 2)
    ),
    changes AS (
        -- A row that breaks a rule stops the statement. EXPLODE: rows that the source leaves out are not tested.
        SELECT *
        FROM source_rows LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
        WHERE
            CASE
                WHEN id IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] crm.customer: id is NULL')
                WHEN region IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] crm.customer: region is NULL')
                WHEN (bucket IS NULL OR ARRAY_CONTAINS(_scd_partitions_1, bucket)) THEN _scd_kept
                ELSE RAISE_ERROR('[SCDGEN_SOURCE_CHANGED] crm.customer: the source changed during the run')
            END
    ),
    ranked AS (
        -- The rows of each key, the newest first; what comes before a delete does not count.
        SELECT
            *,
            CASE WHEN NOT _scd_deleted THEN STRUCT(name, city, bucket) END
                <=> FIRST_VALUE(CASE WHEN NOT _scd_deleted THEN STRUCT(name, city, bucket) END) OVER ties
                AS _scd_agrees,
            COUNT_IF(_scd_deleted) OVER life AS _scd_life,
            ROW_NUMBER() OVER by_key AS _scd_row
        FROM changes
        WINDOW
            by_key AS (PARTITION BY id, region ORDER BY id, region),
            ties AS (
                PARTITION BY id, region ORDER BY id, region
                RANGE BETWEEN CURRENT ROW AND CURRENT ROW
            ),
            life AS (
                PARTITION BY id, region ORDER BY id, region
                ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
            )
    ),
    latest AS (
        -- One row per key; two rows that contradict each other stop the statement.
        SELECT
            id, region,
            MIN_BY(name, name) FILTER (WHERE _scd_life = 0) AS name,
            MAX_BY(city, city) FILTER (WHERE _scd_life = 0) AS city,
            MAX_BY(bucket, bucket) FILTER (WHERE _scd_life = 0) AS bucket,
            COUNT_IF(_scd_life = 0) = 0 AS _scd_deleted,
            BOOL_OR(_scd_deleted) AS _scd_anew
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
    )
    SELECT * FROM latest
) AS s
    -- A key identifies a row.
    ON t.id = s.id AND t.region = s.region AND (t.bucket IS NULL OR ARRAY_CONTAINS(_scd_partitions_1, t.bucket))
-- A delete removes the row.
WHEN MATCHED AND s._scd_deleted THEN
    DELETE
-- After a delete a key starts again: only what follows the delete counts.
WHEN MATCHED
AND s._scd_anew
AND NOT s._scd_deleted
AND NOT (STRUCT(t.name, t.city, t.bucket) <=> STRUCT(s.name, s.city, s.bucket)) THEN
    UPDATE SET name = s.name, city = s.city, bucket = s.bucket
-- The stored row and the batch are combined column by column.
WHEN MATCHED
AND NOT s._scd_deleted
AND NOT (STRUCT(t.name, t.city, t.bucket) <=> STRUCT(t.name, s.city, s.bucket)) THEN
    UPDATE SET name = t.name, city = s.city, bucket = s.bucket
-- A new key.
WHEN NOT MATCHED AND NOT s._scd_deleted THEN
    INSERT (id, region, name, city, bucket)
    VALUES (s.id, s.region, s.name, s.city, s.bucket);
