WITH incoming AS (
    SELECT
        CAST(id AS INT) AS id,
        CAST(region AS STRING) AS region,
        RPAD(CAST(name AS STRING), GREATEST(3, LENGTH(CAST(name AS STRING)))) AS name,
        CAST(town AS STRING) AS city,
        CAST(id % 3 AS INT) AS bucket,
        RPAD(CAST(happened AS STRING), GREATEST(3, LENGTH(CAST(happened AS STRING)))) AS _scd_at,
        COALESCE(gone, FALSE) AS _scd_deleted,
        lsn AS _scd_sequence_1,
        part AS _scd_sequence_2
    FROM _scd_source
    WHERE (a = 1 OR b
  = 2)
)
SELECT * FROM incoming