WITH source AS (SELECT *
FROM raw.rows
WHERE x > 2),
incoming AS (
    SELECT
        CAST(id AS INT) AS id,
        CAST(region AS STRING) AS region,
        CAST(upper(full_name) AS STRING) AS name,
        CAST(town AS STRING) AS city,
        CAST(id % 3 AS INT) AS bucket,
        CAST(started AS TIMESTAMP) AS _scd_at
    FROM source
    WHERE (a = 1 OR b
  = 2) AND NOT COALESCE(op = 'D', FALSE)
)
SELECT COUNT(*), COUNT_IF(id IS NULL OR region IS NULL OR _scd_at IS NULL) FROM incoming