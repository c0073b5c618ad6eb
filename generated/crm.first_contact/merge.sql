-- crm.first_contact: How each customer first came to us.
-- Keeps the first row of each key: new keys are inserted, a stored row never changes.
-- Stops if: a key or time is NULL, a year is not in 1 to 9999, rows tie as the oldest of a key but differ, or the
-- session's settings change the result.
-- Generated from specs/first_contact.yml. To change it, edit the spec and run `scdgen generate`.

MERGE INTO crm.first_contact AS t USING (
    WITH source_rows AS (
        -- The source's rows, with the target's column names and types.
        SELECT
            CAST(customer_id AS INT) AS customer_id,
            STRUCT(
                CAST(channel AS STRING) AS channel,
                CAST(campaign AS STRING) AS campaign,
                CAST(contacted_at AS TIMESTAMP) AS contacted_at
            ) AS _scd_state,
            CAST(contacted_at AS TIMESTAMP) AS _scd_at,
            contact_id AS _scd_sequence_1
        FROM crm.contacts
    ),
    changes AS (
        -- One row per key, and per place in its order; _scd_differs: its rows differ. A broken rule stops the run.
        SELECT
            customer_id, _scd_at, _scd_sequence_1,
            MIN(_scd_state) AS _scd_state,
            MIN(_scd_state) IS DISTINCT FROM MAX(_scd_state) AS _scd_differs
        FROM (SELECT * FROM source_rows DISTRIBUTE BY customer_id) -- one shuffle serves every step
        GROUP BY customer_id, _scd_at, _scd_sequence_1
        HAVING CASE
            WHEN TYPEOF(COALESCE(1, '')) = 'string' OR TYPEOF(CAST(NULL AS TIMESTAMP)) <> 'timestamp'
                THEN RAISE_ERROR('[SCDGEN_SETTINGS] crm.first_contact: needs ANSI mode and TIMESTAMP_LTZ')
            WHEN CURRENT_TIMEZONE() NOT IN ('UTC', 'Etc/UTC', 'GMT')
                THEN RAISE_ERROR('[SCDGEN_TIME_ZONE] crm.first_contact: run SET TIME ZONE \'UTC\' first')
            WHEN COUNT(*) = 0 THEN FALSE -- never: without an aggregate, Spark may test rules before source filters
            WHEN customer_id IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] crm.first_contact: customer_id is NULL')
            WHEN YEAR(_scd_at) NOT BETWEEN 1 AND 9999
                THEN RAISE_ERROR('[SCDGEN_YEAR] crm.first_contact: year not in 1-9999')
            WHEN _scd_at IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_TIME] crm.first_contact: contacted_at is NULL')
            ELSE TRUE
        END
    )
    -- The oldest row of each key; one that ties with it and differs stops the statement.
    SELECT customer_id, MIN_BY(_scd_state, STRUCT(_scd_at, _scd_sequence_1)) AS _scd_state
    FROM changes
    GROUP BY customer_id
    HAVING CASE
        WHEN MIN_BY(_scd_differs, STRUCT(_scd_at, _scd_sequence_1))
            THEN RAISE_ERROR('[SCDGEN_CONFLICT] crm.first_contact: two rows differ: '
                || TO_JSON(STRUCT(customer_id, MIN(_scd_at) FILTER (WHERE _scd_differs) AS _scd_at)))
        ELSE TRUE
    END
) AS s
    -- A key identifies a row.
    ON t.customer_id = s.customer_id
-- A new key.
WHEN NOT MATCHED THEN INSERT (customer_id, channel, campaign, contacted_at)
    VALUES (s.customer_id, s._scd_state.channel, s._scd_state.campaign, s._scd_state.contacted_at);
