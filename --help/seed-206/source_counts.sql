WITH incoming AS (
    SELECT
        CAST(id AS INT) AS id,
        CAST(src_a AS STRING) AS a,
        CAST(b AS INT) AS b,
        CAST(c AS STRING) AS c,
        CAST(happened AS TIMESTAMP) AS _scd_at,
        CAST(ended AS TIMESTAMP) AS _scd_until
    FROM incoming_206
)
SELECT COUNT(*), COUNT_IF(id IS NULL OR _scd_at IS NULL) FROM incoming