WITH incoming AS (
    SELECT
        CAST(id AS INT) AS id,
        CAST(region AS STRING) AS region,
        CAST(name AS STRING) AS name,
        CAST(town AS STRING) AS city,
        CAST(id % 3 AS INT) AS bucket,
        CAST(happened AS TIMESTAMP) AS _scd_at,
        ARRAY_SORT(TRANSFORM(CAST(parts AS ARRAY<STRING>), name -> LOWER(name))) AS _scd_sets,
        COALESCE(op = 'D', FALSE) AS _scd_deleted
    FROM raw.rows
)
SELECT COUNT(*), COUNT_IF(id IS NULL OR region IS NULL OR _scd_at IS NULL), COUNT_IF(NOT (id IS NULL OR region IS NULL OR _scd_at IS NULL) AND NOT _scd_deleted AND NOT (length(IF(ARRAY_CONTAINS(_scd_sets, 'name') IS NOT FALSE, name, NULL)) < 100)), COUNT_IF(NOT (id IS NULL OR region IS NULL OR _scd_at IS NULL) AND NOT _scd_deleted AND NOT (id IS NOT NULL AND region <> '')) FROM incoming