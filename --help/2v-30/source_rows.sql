WITH incoming AS (
    SELECT
        CAST(id AS INT) AS id,
        CAST(region AS STRING) AS region,
        CAST(name AS STRING) AS name,
        CAST(town AS STRING) AS city,
        CAST(id % 3 AS INT) AS bucket,
        CAST(happened AS TIMESTAMP) AS _scd_at,
        CAST(ended AS TIMESTAMP) AS _scd_until
    FROM raw.rows
    WHERE happened > session.since
)
SELECT * FROM incoming