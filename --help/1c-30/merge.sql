-- crm.customer
-- Keeps one row per key: the newest change.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

MERGE INTO crm.customer AS t USING (
    WITH source_rows AS (
        -- The source's rows, with the target's column names and types.
        SELECT
            CAST(id AS INT) AS id,
            CAST(region AS STRING) AS region,
            CAST(name AS STRING) AS name,
            CAST(town AS STRING) AS city,
            CAST(id % 3 AS INT) AS bucket
        FROM raw.rows
    ),
    changes AS (
        -- A row that breaks a rule stops the statement. EXPLODE: rows that the source leaves out are not tested.
        SELECT *
        FROM source_rows LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
        WHERE
            CASE
                WHEN id IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] crm.customer: id is NULL')
                WHEN region IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] crm.customer: region is NULL')
                ELSE _scd_kept
            END
    ),
    ranked AS (
        -- The rows of each key, the newest first.
        SELECT
            *,
            STRUCT(name, city, bucket) <=> FIRST_VALUE(STRUCT(name, city, bucket)) OVER ties AS _scd_agrees,
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
            id, region, name, city, bucket
        FROM ranked
        WHERE
            CASE
                WHEN _scd_agrees THEN _scd_row = 1
                ELSE RAISE_ERROR(
                    '[SCDGEN_CONFLICT] crm.customer: two different rows of one key: '
                    || TO_JSON(STRUCT(id, region))
                )
            END
    )
    SELECT * FROM latest
) AS s
    -- A key identifies a row.
    ON t.id = s.id AND t.region = s.region
-- A row with other values.
WHEN MATCHED AND NOT (STRUCT(t.name, t.city, t.bucket) <=> STRUCT(s.name, s.city, s.bucket)) THEN
    UPDATE SET name = s.name, city = s.city, bucket = s.bucket
-- A new key.
WHEN NOT MATCHED THEN
    INSERT (id, region, name, city, bucket)
    VALUES (s.id, s.region, s.name, s.city, s.bucket);
