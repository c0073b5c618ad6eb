WITH incoming AS (
    SELECT
        CAST(id AS INT) AS id,
        CAST(region AS STRING) AS region,
        CAST(src_a AS STRING) AS a,
        CAST(b AS INT) AS b,
        CAST(c AS STRING) AS c,
        CAST(happened AS TIMESTAMP) AS _scd_at,
        NULLIF(
    LEAST(CAST(ended AS TIMESTAMP), TIMESTAMP '9999-12-31 23:59:59.999'),
    TIMESTAMP '9999-12-31 23:59:59.999'
) + INTERVAL '1' DAY AS _scd_until
    FROM nowhere
)
SELECT COUNT(*), COUNT_IF(id IS NULL OR region IS NULL OR _scd_at IS NULL) FROM incoming