-- crm.first_contact: How each customer first came to us.
-- Keeps the first row of each key: new keys are inserted, a stored row never changes. Stops and writes nothing if a key
-- or time is NULL, or rows of one key, time and sequence differ.
-- Generated from specs/first_contact.yml. To change it, edit the spec and run `scdgen generate`.

MERGE INTO crm.first_contact AS t USING (
    WITH source_rows AS (
        -- The source's rows, with the target's column names and types.
        SELECT
            CAST(customer_id AS INT) AS customer_id,
            CAST(channel AS STRING) AS channel,
            CAST(campaign AS STRING) AS campaign,
            CAST(contacted_at AS TIMESTAMP) AS contacted_at,
            CAST(contacted_at AS TIMESTAMP) AS _scd_at,
            contact_id AS _scd_sequence_1
        FROM crm.contacts
    ),
    changes AS (
        -- A row that breaks a rule stops the statement, as does a session that would read values differently.
        -- EXPLODE keeps Spark from testing rows that the source's own filters drop.
        SELECT *
        FROM source_rows
            LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
        WHERE CASE
            WHEN NOT _scd_kept THEN FALSE
            WHEN TYPEOF(COALESCE(1, '')) = 'string' OR TYPEOF(CAST(NULL AS TIMESTAMP)) <> 'timestamp'
                THEN RAISE_ERROR('[SCDGEN_SETTINGS] crm.first_contact: needs ANSI mode and TIMESTAMP_LTZ')
            WHEN CURRENT_TIMEZONE() NOT IN ('UTC', 'Etc/UTC', 'GMT')
                THEN RAISE_ERROR('[SCDGEN_TIME_ZONE] crm.first_contact: run SET TIME ZONE \'UTC\' first')
            WHEN customer_id IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] crm.first_contact: customer_id is NULL')
            WHEN YEAR(LEAST(_scd_at, contacted_at)) < 1 OR YEAR(GREATEST(_scd_at, contacted_at)) > 9999
                THEN RAISE_ERROR('[SCDGEN_YEAR] crm.first_contact: a time is not in the years 1 to 9999')
            WHEN _scd_at IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_TIME] crm.first_contact: contacted_at is NULL')
            ELSE TRUE
        END
    ),
    ranked AS (
        -- The rows of each key, the first one first.
        SELECT
            *,
            STRUCT(channel, campaign, contacted_at)
                <=> FIRST_VALUE(STRUCT(channel, campaign, contacted_at)) OVER ties
                AS _scd_agrees,
            ROW_NUMBER() OVER by_key AS _scd_row
        FROM changes
        WINDOW
            by_key AS (PARTITION BY customer_id ORDER BY _scd_at, _scd_sequence_1),
            ties AS (
                PARTITION BY customer_id
                ORDER BY _scd_at, _scd_sequence_1
                RANGE BETWEEN CURRENT ROW AND CURRENT ROW
            )
    ),
    staged AS (
        -- The first row of each key; two rows that contradict each other stop the statement.
        SELECT customer_id, channel, campaign, contacted_at
        FROM ranked
        WHERE CASE
            WHEN _scd_agrees THEN _scd_row = 1
            ELSE RAISE_ERROR(
                '[SCDGEN_CONFLICT] crm.first_contact: two different rows of one key and time: '
                    || TO_JSON(STRUCT(customer_id, _scd_at))
            )
        END
    )
    SELECT * FROM staged
) AS s
    -- A key identifies a row.
    ON t.customer_id = s.customer_id
-- A new key.
WHEN NOT MATCHED THEN
    INSERT (customer_id, channel, campaign, contacted_at)
    VALUES (s.customer_id, s.channel, s.campaign, s.contacted_at);
