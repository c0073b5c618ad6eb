WITH incoming AS (
    SELECT
        CAST(id AS INT) AS id,
        CAST(region AS STRING) AS region,
        CAST(name AS INT) AS name,
        CAST(town AS STRING) AS city,
        CAST(id % 3 AS INT) AS bucket,
        CAST(happened AS INT) AS _scd_at
    FROM _scd_source
    WHERE happened > session.since
)
SELECT * FROM incoming