WITH incoming AS (
    SELECT
        CAST(id AS INT) AS id,
        CAST(region AS STRING) AS region,
        CAST(name AS INT) AS name,
        CAST(town AS STRING) AS city,
        CAST(id % 3 AS INT) AS bucket,
        CAST(happened AS TIMESTAMP) AS _scd_at,
        COALESCE(gone, FALSE) AS _scd_deleted,
        lsn AS _scd_sequence_1,
        part AS _scd_sequence_2
    FROM _scd_source
)
SELECT * FROM incoming