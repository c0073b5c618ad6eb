WITH incoming AS (
    SELECT
        CAST(id AS INT) AS id,
        CAST(region AS STRING) AS region,
        CAST(src_a AS STRING) AS a,
        CAST(b AS INT) AS b,
        CAST(c AS STRING) AS c,
        CAST(happened AS BIGINT) AS _scd_at,
        COALESCE(op = 'D', FALSE) AS _scd_deleted
    FROM incoming_236
)
SELECT COUNT(*), COUNT_IF(id IS NULL OR region IS NULL OR _scd_at IS NULL) FROM incoming