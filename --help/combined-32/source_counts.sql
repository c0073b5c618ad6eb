WITH incoming AS (
    SELECT
        CAST(id AS INT) AS id,
        CAST(region AS STRING) AS region,
        CAST(name AS STRING) AS name,
        CAST(town AS STRING) AS city,
        CAST(id % 3 AS INT) AS bucket,
        COALESCE(op = 'T', FALSE) AS _scd_truncates,
        FALSE AS _scd_deleted,
        lsn AS _scd_sequence_1
    FROM raw.rows
)
SELECT COUNT(*), 0, COUNT_IF(NOT _scd_truncates AND NOT _scd_deleted AND NOT (length(name) < 100)), COUNT_IF(NOT _scd_truncates AND NOT _scd_deleted AND NOT (id IS NOT NULL AND region <> '')) FROM incoming