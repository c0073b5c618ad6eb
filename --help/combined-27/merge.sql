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
            CAST(id % 3 AS INT) AS bucket,
            COALESCE(op = 'T', FALSE) AS _scd_truncates,
            FALSE AS _scd_deleted,
            lsn AS _scd_sequence_1
        FROM raw.rows
    ),
    changes AS (
        -- A row that breaks a rule stops the statement. EXPLODE: rows that the source leaves out are not tested.
        SELECT *
        FROM source_rows LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
        WHERE
            CASE
                WHEN id IS NULL AND NOT _scd_truncates
                    THEN RAISE_ERROR('[SCDGEN_NULL_KEY] crm.customer: id is NULL')
                WHEN region IS NULL AND NOT _scd_truncates
                    THEN RAISE_ERROR('[SCDGEN_NULL_KEY] crm.customer: region is NULL')
                ELSE _scd_kept
            END
    ),
    emptied AS (
        -- When the table was last emptied; NULL if the batch does not empty it.
        SELECT MAX(CASE WHEN _scd_truncates THEN STRUCT(_scd_sequence_1) END) AS _scd_emptied
        FROM changes
    ),
    remaining AS (
        -- Rows that come before are left out, and each stored key has a delete of that time.
        SELECT
            id, region, name, city, bucket, _scd_sequence_1, _scd_deleted
        FROM changes
        CROSS JOIN emptied
        WHERE
            CASE
                WHEN _scd_emptied IS NULL OR STRUCT(_scd_sequence_1) > _scd_emptied THEN TRUE
                WHEN STRUCT(_scd_sequence_1) < _scd_emptied OR _scd_truncates OR _scd_deleted THEN FALSE
                ELSE RAISE_ERROR(
                    '[SCDGEN_CONFLICT] crm.customer: a row of the time at which the table is emptied: '
                    || TO_JSON(STRUCT(id, region))
                )
            END
        UNION ALL
        SELECT
            t.id, t.region, NULL, NULL, NULL, _scd_emptied._scd_sequence_1, TRUE
        FROM crm.customer AS t
        CROSS JOIN emptied
        WHERE _scd_emptied IS NOT NULL
    ),
    ranked AS (
        -- The rows of each key, the newest first.
        SELECT
            *,
            CASE WHEN NOT _scd_deleted THEN STRUCT(name, city, bucket) END
                <=> FIRST_VALUE(CASE WHEN NOT _scd_deleted THEN STRUCT(name, city, bucket) END) OVER ties
                AS _scd_agrees,
            ROW_NUMBER() OVER by_key AS _scd_row
        FROM remaining
        WINDOW
            by_key AS (PARTITION BY id, region ORDER BY _scd_sequence_1 DESC),
            ties AS (
                PARTITION BY id, region ORDER BY _scd_sequence_1 DESC
                RANGE BETWEEN CURRENT ROW AND CURRENT ROW
            )
    ),
    latest AS (
        -- One row per key; two rows that contradict each other stop the statement.
        SELECT
            id, region, name, city, bucket, _scd_deleted
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
-- A delete removes the row.
WHEN MATCHED AND s._scd_deleted THEN
    DELETE
-- A row with other values.
WHEN MATCHED
AND NOT s._scd_deleted
AND NOT (STRUCT(t.name, t.city, t.bucket) <=> STRUCT(s.name, s.city, s.bucket)) THEN
    UPDATE SET name = s.name, city = s.city, bucket = s.bucket
-- A new key.
WHEN NOT MATCHED AND NOT s._scd_deleted THEN
    INSERT (id, region, name, city, bucket)
    VALUES (s.id, s.region, s.name, s.city, s.bucket);
