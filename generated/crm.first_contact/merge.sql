-- `crm`.`first_contact`: How each customer first came to us.
-- Keeps the first row of each key: new keys are inserted, a stored row never changes.
-- Made from specs/first_contact.yml; do not edit: change the spec and run `scdgen generate`.

MERGE INTO `crm`.`first_contact` AS t USING (
    WITH changes AS (
        -- The source's rows, in the names and types of the table.
        SELECT
            COALESCE(CAST(`customer_id` AS INT), RAISE_ERROR('[SCDGEN_NULL_KEY] crm.first_contact: the key customer_id is NULL in a source row; mend the source or set bad_rows: skip')) AS `customer_id`,
            CAST(`channel` AS STRING) AS `channel`,
            CAST(`campaign` AS STRING) AS `campaign`,
            CAST(`contacted_at` AS TIMESTAMP) AS `contacted_at`,
            COALESCE(CAST(contacted_at AS TIMESTAMP), RAISE_ERROR('[SCDGEN_NULL_TIME] crm.first_contact: effective_at is NULL in a source row; mend the source or set bad_rows: skip')) AS _scd_at,
            contact_id AS _scd_sequence_1
        FROM `crm`.`contacts`
    ),
    ranked AS (
        -- The rows of each key in their order.
        SELECT
            *,
            FIRST_VALUE(STRUCT(`channel`, `campaign`, `contacted_at`)) OVER ties AS _scd_first,
            ROW_NUMBER() OVER w AS _scd_row
        FROM changes
        WINDOW
            w AS (PARTITION BY `customer_id` ORDER BY _scd_at, _scd_sequence_1),
            ties AS (PARTITION BY `customer_id` ORDER BY _scd_at, _scd_sequence_1 RANGE BETWEEN CURRENT ROW AND CURRENT ROW)
    ),
    staged AS (
        -- The first row of each key.
        SELECT
            `customer_id`,
            `channel`,
            `campaign`,
            `contacted_at`
        FROM ranked
        WHERE
            CASE
                WHEN NOT (_scd_first <=> STRUCT(`channel`, `campaign`, `contacted_at`))
                    THEN RAISE_ERROR(CONCAT('[SCDGEN_CONFLICT] crm.first_contact: two different rows of one key and time, such as ', TO_JSON(STRUCT(`customer_id`, _scd_at)), '; mend the source, order them by source.sequence_by or set conflicts: any'))
                ELSE _scd_row = 1
            END
    )
    SELECT * FROM staged
) AS s
    -- A row is known by its key.
    ON t.`customer_id` = s.`customer_id`
-- A new key.
WHEN NOT MATCHED THEN
    INSERT (`customer_id`, `channel`, `campaign`, `contacted_at`)
    VALUES (s.`customer_id`, s.`channel`, s.`campaign`, s.`contacted_at`);
