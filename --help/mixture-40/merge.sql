-- crm.customer: Other
-- Keeps one row per key, column by column: the last, first, least or greatest value.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The partitions of the batch's keys; Delta skips the files of all others.
DECLARE OR REPLACE VARIABLE _scd_partitions_1 ARRAY<INT>;

SET VARIABLE _scd_partitions_1 = (SELECT COLLECT_SET(CAST(id % 3 AS INT)) FROM parquet.`in/x`);

MERGE INTO crm.customer AS t USING (
    WITH source_rows AS (
        -- The source's rows, with the target's column names and types.
        SELECT
            CAST(id AS INT) AS id,
            CAST(region AS STRING) AS region,
            CAST(name AS INT) AS name,
            CAST(town AS STRING) AS city,
            CAST(id % 3 AS INT) AS bucket,
            CAST(coalesce(started, happened) AS TIMESTAMP) AS _scd_at,
            lsn AS _scd_sequence_1
        FROM parquet.`in/x`
    ),
    changes AS (
        -- A row that breaks a rule stops the statement. EXPLODE: rows that the source leaves out are not tested.
        SELECT *
        FROM source_rows LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
        WHERE
            CASE
                WHEN id IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] crm.customer: id is NULL')
                WHEN region IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] crm.customer: region is NULL')
                WHEN _scd_at IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_TIME] crm.customer: effective_at is NULL')
                WHEN (bucket IS NULL OR ARRAY_CONTAINS(_scd_partitions_1, bucket)) THEN _scd_kept
                ELSE RAISE_ERROR('[SCDGEN_SOURCE_CHANGED] crm.customer: the source changed during the run')
            END
    ),
    ranked AS (
        -- The rows of each key, the newest first.
        SELECT
            *,
            STRUCT(name, city) <=> FIRST_VALUE(STRUCT(name, city)) OVER ties AS _scd_agrees,
            ROW_NUMBER() OVER by_key AS _scd_row
        FROM changes
        WINDOW
            by_key AS (PARTITION BY id, region ORDER BY _scd_at DESC, _scd_sequence_1 DESC),
            ties AS (
                PARTITION BY id, region ORDER BY _scd_at DESC, _scd_sequence_1 DESC
                RANGE BETWEEN CURRENT ROW AND CURRENT ROW
            )
    ),
    latest AS (
        -- One row per key; two rows that contradict each other stop the statement.
        SELECT
            id, region,
            MAX_BY(name, STRUCT(_scd_at, _scd_sequence_1)) AS name,
            MAX_BY(city, STRUCT(_scd_at, _scd_sequence_1)) AS city,
            MAX(bucket) AS bucket,
            MAX(_scd_at) AS changed_at,
            MAX(_scd_at) AS _scd_time
        FROM ranked
        WHERE
            CASE
                WHEN _scd_agrees THEN TRUE
                ELSE RAISE_ERROR(
                    '[SCDGEN_CONFLICT] crm.customer: two different rows of one key and time: '
                    || TO_JSON(STRUCT(id, region, _scd_at))
                )
            END
        GROUP BY id, region
    )
    SELECT * FROM latest
) AS s
    -- A key identifies a row.
    ON t.id = s.id AND t.region = s.region AND (t.bucket IS NULL OR ARRAY_CONTAINS(_scd_partitions_1, t.bucket))
-- The stored row and the batch are combined column by column.
WHEN MATCHED
AND NOT (STRUCT(t.name, t.city, t.bucket, t.changed_at)
    <=> STRUCT(
        CASE WHEN s._scd_time >= t.changed_at THEN s.name ELSE t.name END AS name,
        CASE WHEN s._scd_time >= t.changed_at THEN s.city ELSE t.city END AS city,
        GREATEST(t.bucket, s.bucket) AS bucket,
        GREATEST(t.changed_at, s._scd_time) AS changed_at
    )) THEN
    UPDATE SET
        name = CASE WHEN s._scd_time >= t.changed_at THEN s.name ELSE t.name END,
        city = CASE WHEN s._scd_time >= t.changed_at THEN s.city ELSE t.city END,
        bucket = GREATEST(t.bucket, s.bucket),
        changed_at = GREATEST(t.changed_at, s._scd_time)
-- A new key.
WHEN NOT MATCHED THEN
    INSERT (id, region, name, city, bucket, changed_at)
    VALUES (s.id, s.region, s.name, s.city, s.bucket, s.changed_at);
