WITH incoming AS (
    SELECT
        CAST(id AS INT) AS id,
        CAST(region AS STRING) AS region,
        CAST(name AS STRING) AS name,
        CAST(town AS STRING) AS city,
        CAST(id % 3 AS INT) AS bucket,
        CAST(happened AS STRING) AS _scd_at
    FROM parquet.`in/x`
    WHERE (a = 1 OR b
  = 2)
)
SELECT COUNT(*), 0 FROM incoming