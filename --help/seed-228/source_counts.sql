WITH incoming AS (
    SELECT
        CAST(id AS INT) AS id,
        CAST(region AS STRING) AS region,
        CAST(src_a AS STRING) AS a,
        CAST(b AS INT) AS b,
        CAST(c AS STRING) AS c,
        CAST(id % 3 AS INT) AS bucket,
        CAST(happened AS BIGINT) AS _scd_at,
        COALESCE(op = 'D', FALSE) AS _scd_deleted
    FROM _scd_source
)
SELECT COUNT(*), 0 FROM incoming