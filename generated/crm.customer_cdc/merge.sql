-- crm.customer_cdc: Customers, from a change feed with deletes; an update comes as a delete and an insert of one time
-- Merges a batch of changes into the history: a late change splits, shortens or extends the versions around it, and
-- removes redundant ones. A change that repeats the values before it opens no version; one at the start of a stored
-- version replaces its values. A delete ends the version of its key; other keys stay as they are. Stops and writes
-- nothing if a key or time is NULL, rows of one key, time and sequence differ, or an earlier row arrives during the
-- run. Repeating the last batch changes nothing.
-- Generated from specs/customer_cdc.yml. To change it, edit the spec and run `scdgen generate`.

-- The batch affects no version that ended before this, so that Delta skips their files.
DECLARE OR REPLACE VARIABLE _scd_batch_from TIMESTAMP;

SET VARIABLE _scd_batch_from = (SELECT MIN(CAST(changed_at AS TIMESTAMP)) FROM crm.customer_feed);

MERGE INTO crm.customer_cdc AS t USING (
    WITH source_rows AS (
        -- The source's rows, with the target's column names and types.
        SELECT
            CAST(company AS STRING) AS company,
            CAST(customer_no AS STRING) AS customer_no,
            CAST(name AS STRING) AS name,
            CAST(city AS STRING) AS city,
            CAST(changed_at AS TIMESTAMP) AS _scd_at,
            COALESCE(op = 'D', FALSE) AS _scd_deleted,
            lsn AS _scd_sequence_1
        FROM crm.customer_feed
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
                THEN RAISE_ERROR('[SCDGEN_SETTINGS] crm.customer_cdc: needs ANSI mode and TIMESTAMP_LTZ')
            WHEN CURRENT_TIMEZONE() NOT IN ('UTC', 'Etc/UTC', 'GMT')
                THEN RAISE_ERROR('[SCDGEN_TIME_ZONE] crm.customer_cdc: run SET TIME ZONE \'UTC\' first')
            WHEN company IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] crm.customer_cdc: company is NULL')
            WHEN customer_no IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] crm.customer_cdc: customer_no is NULL')
            WHEN YEAR(_scd_at) < 1 OR YEAR(_scd_at) > 9999
                THEN RAISE_ERROR('[SCDGEN_YEAR] crm.customer_cdc: a time is not in the years 1 to 9999')
            WHEN _scd_at IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_TIME] crm.customer_cdc: changed_at is NULL')
            WHEN _scd_at >= _scd_batch_from THEN TRUE
            ELSE RAISE_ERROR('[SCDGEN_SOURCE_CHANGED] crm.customer_cdc: the source changed during the run')
        END
    ),
    timeline AS (
        -- A row per event: a change (rank 1), or the start (2) or end (3) of a version that the batch can affect.
        SELECT
            company,
            customer_no,
            name,
            city,
            _scd_at,
            _scd_deleted,
            _scd_sequence_1,
            NULL AS _scd_until,
            NULL AS action,
            1 AS _scd_rank
        FROM changes
        UNION ALL
        SELECT t.company, t.customer_no, t.name, t.city, _scd_at, _scd_deleted, NULL, t.valid_to, t.action, _scd_rank
        FROM crm.customer_cdc AS t
        LEFT SEMI JOIN changes AS c ON t.company = c.company AND t.customer_no = c.customer_no
            LATERAL VIEW STACK(2, t.valid_from, FALSE, 2, t.valid_to, TRUE, 3) p AS _scd_at, _scd_deleted, _scd_rank
        -- Every version of these keys is read: what action says of one depends on those before it.
        WHERE _scd_at IS NOT NULL
        DISTRIBUTE BY company, customer_no -- of the whole UNION: one shuffle serves every window
    ),
    ranked AS (
        -- At one key and time, a change takes precedence over what is stored; the greatest lsn wins.
        SELECT
            *,
            ROW_NUMBER() OVER same_time AS _scd_row,
            RANK() OVER same_time > 1
                OR CASE WHEN NOT _scd_deleted THEN STRUCT(name, city) END
                    <=> FIRST_VALUE(CASE WHEN NOT _scd_deleted THEN STRUCT(name, city) END) OVER same_time
                AS _scd_agrees,
            FIRST_VALUE(CASE WHEN _scd_rank = 2 THEN STRUCT(name, city, action, _scd_until AS _scd_next) END)
                IGNORE NULLS OVER (PARTITION BY company, customer_no, _scd_at) AS _scd_stored
        FROM timeline
        WINDOW same_time AS (PARTITION BY company, customer_no, _scd_at ORDER BY _scd_rank ASC, _scd_sequence_1 DESC)
    ),
    events AS (
        -- One event per key and time; two changes that contradict each other stop the statement.
        -- An event opens a version unless it is a delete or repeats the state before it.
        SELECT
            *,
            NOT _scd_deleted
                AND NOT (STRUCT(_scd_deleted, name, city) <=> LAG(STRUCT(_scd_deleted, name, city)) OVER by_key)
                AS _scd_opens
        FROM ranked
        WHERE CASE
            WHEN _scd_row = 1 THEN TRUE
            WHEN _scd_agrees THEN FALSE
            ELSE RAISE_ERROR(
                '[SCDGEN_CONFLICT] crm.customer_cdc: two different rows of one key and time: '
                    || TO_JSON(STRUCT(company, customer_no, _scd_at))
            )
        END
        WINDOW by_key AS (PARTITION BY company, customer_no ORDER BY _scd_at)
    ),
    versions AS (
        -- A version lasts until the next version or delete of its key.
        SELECT
            *,
            COALESCE(LAG(_scd_deleted) OVER by_key, TRUE) AS _scd_begins,
            COALESCE(
                LEAD(CASE WHEN _scd_opens OR _scd_deleted THEN _scd_deleted END) IGNORE NULLS OVER by_key,
                FALSE
            ) AS _scd_ends_deleted,
            LEAD(CASE WHEN _scd_opens OR _scd_deleted THEN _scd_at END) IGNORE NULLS OVER by_key AS _scd_next
        FROM events
        WINDOW by_key AS (PARTITION BY company, customer_no ORDER BY _scd_at)
    ),
    staged AS (
        -- Rows to write; the action is NULL if the stored version is already right.
        SELECT
            CASE
                WHEN _scd_opens AND _scd_stored IS NULL THEN 'open'
                WHEN NOT _scd_opens AND _scd_stored IS NOT NULL THEN 'fold'
                WHEN _scd_opens
                    AND NOT (
                        _scd_stored <=> STRUCT(
                            name,
                            city,
                            CASE WHEN _scd_ends_deleted THEN 'D' WHEN _scd_begins THEN 'I' ELSE 'U' END AS action,
                            _scd_next
                        )
                    )
                    THEN IF(_scd_stored._scd_next IS NULL AND _scd_next IS NOT NULL, 'close', 'correct')
            END AS _scd_action,
            company,
            customer_no,
            name,
            city,
            _scd_at AS valid_from,
            _scd_next AS valid_to,
            _scd_next IS NULL AS is_current,
            CASE WHEN _scd_ends_deleted THEN 'D' WHEN _scd_begins THEN 'I' ELSE 'U' END AS action
        FROM versions
    )
    SELECT * FROM staged WHERE _scd_action IS NOT NULL
) AS s
    -- A key and a start identify a version.
    ON t.company = s.company AND t.customer_no = s.customer_no AND t.valid_from = s.valid_from
-- No version starts here any more: the one before has the same values, or a delete has this time.
WHEN MATCHED AND s._scd_action = 'fold' THEN DELETE
-- A stored version whose end or values change; both are written.
WHEN MATCHED THEN
    UPDATE SET name = s.name, city = s.city, valid_to = s.valid_to, is_current = s.is_current, action = s.action
-- A version that is not stored yet.
WHEN NOT MATCHED THEN
    INSERT (company, customer_no, name, city, valid_from, valid_to, is_current, action)
    VALUES (s.company, s.customer_no, s.name, s.city, s.valid_from, s.valid_to, s.is_current, s.action);
