-- crm.`odd ``name`
-- Keeps one row per key, column by column: the last, first, least or greatest value.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.
-- Set before this runs: DECLARE OR REPLACE VARIABLE since DATE DEFAULT ...;

MERGE INTO crm.`odd ``name` AS t USING (
    WITH source_rows AS (
        -- The source's rows, with the target's column names and types.
        SELECT
            CAST(id AS INT) AS id,
            CAST(region AS STRING) AS region,
            CAST(name AS STRING) AS name,
            CAST(town AS STRING) AS city,
            CAST(id % 3 AS INT) AS bucket
        FROM raw.rows
        WHERE happened > session.since
    ),
    changes AS (
        -- A row that breaks a rule stops the statement. EXPLODE: rows that the source leaves out are not tested.
        SELECT *
        FROM source_rows LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
        WHERE
            CASE
                WHEN id IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] crm.`odd ``name`: id is NULL')
                WHEN region IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] crm.`odd ``name`: region is NULL')
                ELSE _scd_kept
            END
    ),
    ranked AS (
        -- The rows of each key, the newest first.
        SELECT
            *,
            STRUCT(name, city) <=> FIRST_VALUE(STRUCT(name, city)) OVER ties AS _scd_agrees,
            ROW_NUMBER() OVER by_key AS _scd_row
        FROM changes
        WINDOW
            by_key AS (PARTITION BY id, region ORDER BY id, region),
            ties AS (
                PARTITION BY id, region ORDER BY id, region
                RANGE BETWEEN CURRENT ROW AND CURRENT ROW
            )
    ),
    latest AS (
        -- One row per key; two rows that contradict each other stop the statement.
        SELECT
            id, region,
            MAX_BY(name, name) AS name,
            MAX_BY(city, city) AS city,
            MAX(bucket) AS bucket
        FROM ranked
        WHERE
            CASE
                WHEN _scd_agrees THEN TRUE
                ELSE RAISE_ERROR(
                    '[SCDGEN_CONFLICT] crm.`odd ``name`: two different rows of one key: '
                    || TO_JSON(STRUCT(id, region))
                )
            END
        GROUP BY id, region
    )
    SELECT * FROM latest
) AS s
    -- A key identifies a row.
    ON t.id = s.id AND t.region = s.region
-- The stored row and the batch are combined column by column.
WHEN MATCHED
AND NOT (STRUCT(t.name, t.city, t.bucket)
    <=> STRUCT(s.name, s.city, GREATEST(t.bucket, s.bucket) AS bucket)) THEN
    UPDATE SET
        name = s.name, city = s.city,
        bucket = GREATEST(t.bucket, s.bucket)
-- A new key.
WHEN NOT MATCHED THEN
    INSERT (id, region, name, city, bucket)
    VALUES (s.id, s.region, s.name, s.city, s.bucket);
