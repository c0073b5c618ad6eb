WITH source AS (SELECT * FROM raw.rows),
incoming AS (
    SELECT
        CAST(id AS INT) AS id,
        CAST(region AS STRING) AS region,
        CAST(name AS STRING) AS name,
        CAST(town AS STRING) AS city,
        CAST(id % 3 AS INT) AS bucket
    FROM source
)
SELECT COUNT(*), COUNT_IF(id IS NULL OR region IS NULL), COUNT_IF(NOT (id IS NULL OR region IS NULL) AND NOT (length(name) < 100)), COUNT_IF(NOT (id IS NULL OR region IS NULL) AND NOT (id IS NOT NULL AND region <> '')) FROM incoming