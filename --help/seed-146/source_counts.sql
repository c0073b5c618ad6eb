WITH source AS (SELECT * FROM incoming_146 WHERE 1 = 1),
incoming AS (
    SELECT
        CAST(id AS INT) AS id,
        CAST(src_a AS STRING) AS a,
        CAST(b AS INT) AS b,
        CAST(c AS STRING) AS c
    FROM source
)
SELECT COUNT(*), COUNT_IF(id IS NULL) FROM incoming