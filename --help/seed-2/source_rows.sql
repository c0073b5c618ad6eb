WITH incoming AS (
    SELECT
        CAST(id AS INT) AS id,
        CAST(src_a AS STRING) AS a,
        CAST(b AS INT) AS b,
        CAST(c AS STRING) AS c,
        lsn AS _scd_sequence_1
    FROM incoming_2
    WHERE (b IS NULL OR b >= session.least)
)
SELECT * FROM incoming