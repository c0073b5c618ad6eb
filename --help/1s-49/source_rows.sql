WITH incoming AS (
    SELECT
        CAST(id AS INT) AS id,
        CAST(region AS STRING) AS region,
        CAST(name AS STRING) AS name,
        CAST(town AS STRING) AS city,
        CAST(id % 3 AS INT) AS bucket
    FROM raw.rows
)
SELECT * FROM incoming