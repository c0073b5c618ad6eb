WITH incoming AS (
    SELECT
        CAST(id AS INT) AS id,
        CAST(region AS STRING) AS region,
        CAST(name AS STRING) AS name,
        CAST(town AS STRING) AS city,
        CAST(id % 3 AS INT) AS bucket,
        CAST(happened AS TIMESTAMP) AS _scd_at,
        NULLIF(
    LEAST(CAST(ended AS TIMESTAMP), TIMESTAMP '9999-12-31'),
    TIMESTAMP '9999-12-31'
) AS _scd_until
    FROM raw.rows
)
SELECT * FROM incoming