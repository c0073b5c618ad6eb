-- retail.customer: Customers by segment, as the loyalty program keeps them
-- Merges a batch of changes into the history: a late change splits, shortens or extends the versions around it, and
-- removes redundant ones. A change that repeats the values before it opens no version; one at the start of a stored
-- version replaces its values. A delete ends the version of its key; other keys stay as they are. Stops and writes
-- nothing if a key or time is NULL, rows of one key and time differ, or an earlier row arrives during the run.
-- Repeating the last batch changes nothing.
-- Generated from specs/sales/customer.yml. To change it, edit the spec and run `scdgen generate`.

-- The batch affects no version that ended before this, so that Delta skips their files.
DECLARE OR REPLACE VARIABLE _scd_batch_from TIMESTAMP;

SET VARIABLE _scd_batch_from = (SELECT MIN(CAST(changed_at AS TIMESTAMP)) FROM retail_landing.customer_changes);

MERGE INTO retail.customer AS t USING (
    WITH source_rows AS (
        -- The source's rows, with the target's column names and types.
        SELECT
            CAST(customer_id AS INT) AS customer_id,
            CAST(name AS STRING) AS name,
            CAST(segment AS STRING) AS segment,
            CAST(changed_at AS TIMESTAMP) AS _scd_at,
            COALESCE(op = 'D', FALSE) AS _scd_deleted
        FROM retail_landing.customer_changes
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
                THEN RAISE_ERROR('[SCDGEN_SETTINGS] retail.customer: needs ANSI mode and TIMESTAMP_LTZ')
            WHEN CURRENT_TIMEZONE() NOT IN ('UTC', 'Etc/UTC', 'GMT')
                THEN RAISE_ERROR('[SCDGEN_TIME_ZONE] retail.customer: run SET TIME ZONE \'UTC\' first')
            WHEN customer_id IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] retail.customer: customer_id is NULL')
            WHEN YEAR(_scd_at) < 1 OR YEAR(_scd_at) > 9999
                THEN RAISE_ERROR('[SCDGEN_YEAR] retail.customer: a time is not in the years 1 to 9999')
            WHEN _scd_at IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_TIME] retail.customer: changed_at is NULL')
            WHEN _scd_at >= _scd_batch_from THEN TRUE
            ELSE RAISE_ERROR('[SCDGEN_SOURCE_CHANGED] retail.customer: the source changed during the run')
        END
    ),
    timeline AS (
        -- A row per event: a change (rank 1), or the start (2) or end (3) of a version that a change can affect.
        SELECT customer_id, name, segment, _scd_at, _scd_deleted, NULL AS _scd_until, 1 AS _scd_rank
        FROM changes
        UNION ALL
        SELECT t.customer_id, t.name, t.segment, _scd_at, _scd_deleted, t.valid_to, _scd_rank
        FROM retail.customer AS t
        LEFT SEMI JOIN changes AS c
            ON t.customer_id = c.customer_id AND (t.valid_to IS NULL OR t.valid_to >= c._scd_at)
            LATERAL VIEW STACK(2, t.valid_from, FALSE, 2, t.valid_to, TRUE, 3) p AS _scd_at, _scd_deleted, _scd_rank
        -- The bound of the whole batch is a constant, by which Delta skips files.
        WHERE (t.valid_to IS NULL OR t.valid_to >= _scd_batch_from) AND _scd_at IS NOT NULL
        DISTRIBUTE BY customer_id -- of the whole UNION: one shuffle serves every window
    ),
    ranked AS (
        -- At one key and time, a change takes precedence over what is stored.
        SELECT
            *,
            ROW_NUMBER() OVER same_time AS _scd_row,
            CASE WHEN NOT _scd_deleted THEN STRUCT(name, segment) END
                <=> FIRST_VALUE(CASE WHEN NOT _scd_deleted THEN STRUCT(name, segment) END)
                    OVER same_time AS _scd_agrees,
            FIRST_VALUE(CASE WHEN _scd_rank = 2 THEN STRUCT(name, segment, _scd_until AS _scd_next) END)
                IGNORE NULLS OVER (PARTITION BY customer_id, _scd_at) AS _scd_stored
        FROM timeline
        WINDOW same_time AS (PARTITION BY customer_id, _scd_at ORDER BY _scd_rank)
    ),
    events AS (
        -- One event per key and time; two changes that contradict each other stop the statement.
        -- An event opens a version unless it is a delete or repeats the state before it.
        SELECT
            *,
            NOT _scd_deleted
                AND NOT (STRUCT(_scd_deleted, name, segment) <=> LAG(STRUCT(_scd_deleted, name, segment)) OVER by_key)
                AS _scd_opens
        FROM ranked
        WHERE CASE
            WHEN _scd_row = 1 THEN TRUE
            WHEN _scd_rank > 1 OR _scd_agrees THEN FALSE
            ELSE RAISE_ERROR(
                '[SCDGEN_CONFLICT] retail.customer: two different rows of one key and time: '
                    || TO_JSON(STRUCT(customer_id, _scd_at))
            )
        END
        WINDOW by_key AS (PARTITION BY customer_id ORDER BY _scd_at)
    ),
    staged AS (
        -- A version ends at the next start or delete, exclusive. A NULL action means nothing to write.
        SELECT
            LEAD(CASE WHEN _scd_opens OR _scd_deleted THEN _scd_at END)
                IGNORE NULLS OVER (PARTITION BY customer_id ORDER BY _scd_at) AS _scd_next,
            CASE
                WHEN _scd_opens AND _scd_stored IS NULL THEN 'open'
                WHEN NOT _scd_opens AND _scd_stored IS NOT NULL THEN 'fold'
                WHEN _scd_opens AND NOT (_scd_stored <=> STRUCT(name, segment, _scd_next))
                    THEN IF(_scd_stored._scd_next IS NULL AND _scd_next IS NOT NULL, 'close', 'correct')
            END AS _scd_action,
            customer_id,
            name,
            segment,
            _scd_at AS valid_from,
            _scd_next AS valid_to,
            _scd_next IS NULL AS is_current
        FROM events
    )
    SELECT * FROM staged WHERE _scd_action IS NOT NULL
) AS s
    -- A key and a start identify a version; the rest lets Delta skip files.
    ON t.customer_id = s.customer_id
        AND t.valid_from = s.valid_from
        AND (t.valid_to IS NULL OR t.valid_to >= _scd_batch_from)
-- No version starts here any more: the one before has the same values, or a delete has this time.
WHEN MATCHED AND s._scd_action = 'fold' THEN DELETE
-- A stored version whose end or values change; both are written.
WHEN MATCHED THEN UPDATE SET name = s.name, segment = s.segment, valid_to = s.valid_to, is_current = s.is_current
-- A version that is not stored yet.
WHEN NOT MATCHED THEN
    INSERT (customer_id, name, segment, valid_from, valid_to, is_current)
    VALUES (s.customer_id, s.name, s.segment, s.valid_from, s.valid_to, s.is_current);
