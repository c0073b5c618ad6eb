WITH incoming AS (
    SELECT
        CAST(id AS INT) AS id,
        CAST(region AS STRING) AS region,
        CAST(name AS STRING) AS name,
        CAST(town AS STRING) AS city,
        CAST(id % 3 AS INT) AS bucket
    FROM raw.rows
)
SELECT COUNT(*), 0, COUNT_IF(NOT (length(name) < 100)), COUNT_IF(NOT (id IS NOT NULL AND region <> '')) FROM incoming