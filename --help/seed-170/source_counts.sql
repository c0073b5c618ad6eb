WITH incoming AS (
    SELECT
        CAST(id AS INT) AS id,
        CAST(region AS STRING) AS region,
        CAST(src_a AS STRING) AS a,
        CAST(b AS INT) AS b,
        CAST(c AS STRING) AS c,
        CAST(id % 3 AS INT) AS bucket,
        CAST(happened AS DATE) AS _scd_at,
        lsn AS _scd_sequence_1
    FROM incoming_170
)
SELECT COUNT(*), COUNT_IF(id IS NULL OR region IS NULL OR _scd_at IS NULL) FROM incoming