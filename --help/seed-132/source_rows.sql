WITH source AS (SELECT * FROM incoming_132 WHERE 1 = 1),
incoming AS (
    SELECT
        CAST(id AS INT) AS id,
        CAST(src_a AS STRING) AS a,
        CAST(b AS INT) AS b,
        CAST(c AS STRING) AS c,
        CAST(happened AS DATE) AS _scd_at
    FROM source
    WHERE (b IS NULL OR b >= session.least)
)
SELECT * FROM incoming