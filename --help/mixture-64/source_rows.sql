WITH source AS (SELECT *
FROM raw.rows
WHERE x > 2),
incoming AS (
    SELECT
        CAST(id AS INT) AS id,
        CAST(region AS STRING) AS region,
        CAST(name AS INT) AS name,
        CAST(town AS STRING) AS city,
        CAST(id % 3 AS INT) AS bucket,
        CAST(started AS INT) AS _scd_at,
        COALESCE(op = 'D', FALSE) AS _scd_deleted
    FROM source
)
SELECT * FROM incoming