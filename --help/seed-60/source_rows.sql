WITH source AS (SELECT * FROM incoming_60 WHERE 1 = 1),
incoming AS (
    SELECT
        CAST(id AS INT) AS id,
        CAST(region AS STRING) AS region,
        CAST(src_a AS STRING) AS a,
        CAST(b AS INT) AS b,
        CAST(c AS STRING) AS c,
        CAST(happened AS DATE) AS _scd_at
    FROM source
)
SELECT * FROM incoming