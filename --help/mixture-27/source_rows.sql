WITH source AS (SELECT *
FROM raw.rows
WHERE x > 1),
incoming AS (
    SELECT
        CAST(id AS INT) AS id,
        CAST(region AS STRING) AS region,
        CAST(name AS STRING) AS name,
        CAST(town AS STRING) AS city,
        CAST(id % 3 AS INT) AS bucket,
        COALESCE(gone, FALSE) AS _scd_deleted
    FROM source
)
SELECT * FROM incoming