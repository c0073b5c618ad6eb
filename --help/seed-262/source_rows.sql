WITH incoming AS (
    SELECT
        CAST(id AS INT) AS id,
        CAST(region AS STRING) AS region,
        CAST(src_a AS STRING) AS a,
        CAST(b AS INT) AS b,
        CAST(c AS STRING) AS c,
        CAST(happened AS DATE) AS _scd_at,
        CAST(ended AS DATE) + INTERVAL '1' DAY AS _scd_until
    FROM incoming_262
)
SELECT * FROM incoming