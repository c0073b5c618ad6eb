WITH incoming AS (
    SELECT
        CAST(id AS INT) AS id,
        CAST(src_a AS STRING) AS a,
        CAST(b AS INT) AS b,
        CAST(c AS STRING) AS c,
        CAST(happened AS DATE) AS _scd_at,
        COALESCE(op = 'D', FALSE) AS _scd_deleted
    FROM _scd_source
)
SELECT COUNT(*), COUNT_IF(id IS NULL OR _scd_at IS NULL) FROM incoming