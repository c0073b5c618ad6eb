WITH incoming AS (
    SELECT
        CAST(id AS INT) AS id,
        CAST(src_a AS STRING) AS a,
        CAST(b AS INT) AS b,
        CAST(c AS STRING) AS c,
        CAST(id % 3 AS INT) AS bucket,
        CAST(happened AS BIGINT) AS _scd_at,
        NULLIF(LEAST(CAST(ended AS BIGINT), 9999999999), 9999999999) + 1 AS _scd_until
    FROM nowhere
)
SELECT COUNT(*), COUNT_IF(id IS NULL OR _scd_at IS NULL) FROM incoming