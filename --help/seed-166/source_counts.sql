WITH incoming AS (
    SELECT
        CAST(id AS INT) AS id,
        CAST(region AS STRING) AS region,
        CAST(src_a AS STRING) AS a,
        CAST(b AS INT) AS b,
        CAST(c AS STRING) AS c,
        CAST(happened AS TIMESTAMP) AS _scd_at,
        CAST(ended AS TIMESTAMP) + INTERVAL '1' DAY AS _scd_until
    FROM _scd_source
    WHERE (b IS NULL OR b >= session.least)
)
SELECT COUNT(*), COUNT_IF(id IS NULL OR region IS NULL OR _scd_at IS NULL) FROM incoming