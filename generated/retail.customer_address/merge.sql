-- retail.customer_address: Where customers live, from the delivery system
-- Merges a batch of changes into the history: a late change splits, shortens or extends the versions around it, and
-- removes redundant ones. A change that repeats the values before it opens no version; one at the start of a stored
-- version replaces its values. No change deletes a key; other keys stay as they are. Stops and writes nothing if a key
-- or time is NULL, rows of one key and time differ, or an earlier row arrives during the run. Repeating the last batch
-- changes nothing.
-- Generated from specs/sales/customer_address.yml. To change it, edit the spec and run `scdgen generate`.

-- The batch affects no version that ended before this, so that Delta skips their files.
DECLARE OR REPLACE VARIABLE _scd_batch_from TIMESTAMP;

SET VARIABLE _scd_batch_from = (SELECT MIN(CAST(moved_at AS TIMESTAMP)) FROM retail_landing.address_changes);

MERGE INTO retail.customer_address AS t USING (
    WITH source_rows AS (
        -- The source's rows, with the target's column names and types.
        SELECT
            CAST(customer_id AS INT) AS customer_id,
            CAST(street AS STRING) AS street,
            CAST(city AS STRING) AS city,
            CAST(moved_at AS TIMESTAMP) AS _scd_at
        FROM retail_landing.address_changes
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
                THEN RAISE_ERROR('[SCDGEN_SETTINGS] retail.customer_address: needs ANSI mode and TIMESTAMP_LTZ')
            WHEN CURRENT_TIMEZONE() NOT IN ('UTC', 'Etc/UTC', 'GMT')
                THEN RAISE_ERROR('[SCDGEN_TIME_ZONE] retail.customer_address: run SET TIME ZONE \'UTC\' first')
            WHEN customer_id IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] retail.customer_address: customer_id is NULL')
            WHEN YEAR(_scd_at) < 1 OR YEAR(_scd_at) > 9999
                THEN RAISE_ERROR('[SCDGEN_YEAR] retail.customer_address: a time is not in the years 1 to 9999')
            WHEN _scd_at IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_TIME] retail.customer_address: moved_at is NULL')
            WHEN _scd_at >= _scd_batch_from THEN TRUE
            ELSE RAISE_ERROR('[SCDGEN_SOURCE_CHANGED] retail.customer_address: the source changed during the run')
        END
    ),
    timeline AS (
        -- A row per event: a change (rank 1), or the start (2) or end (3) of a version that a change can affect.
        SELECT customer_id, street, city, _scd_at, FALSE AS _scd_deleted, NULL AS _scd_until, 1 AS _scd_rank
        FROM changes
        UNION ALL
        SELECT t.customer_id, t.street, t.city, _scd_at, _scd_deleted, t.valid_to, _scd_rank
        FROM retail.customer_address AS t
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
            STRUCT(street, city) <=> FIRST_VALUE(STRUCT(street, city)) OVER same_time AS _scd_agrees,
            FIRST_VALUE(CASE WHEN _scd_rank = 2 THEN STRUCT(street, city, _scd_until AS _scd_next) END)
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
                AND NOT (STRUCT(_scd_deleted, street, city) <=> LAG(STRUCT(_scd_deleted, street, city)) OVER by_key)
                AS _scd_opens
        FROM ranked
        WHERE CASE
            WHEN _scd_row = 1 THEN TRUE
            WHEN _scd_rank > 1 OR _scd_agrees THEN FALSE
            ELSE RAISE_ERROR(
                '[SCDGEN_CONFLICT] retail.customer_address: two different rows of one key and time: '
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
                WHEN _scd_opens AND NOT (_scd_stored <=> STRUCT(street, city, _scd_next))
                    THEN IF(_scd_stored._scd_next IS NULL AND _scd_next IS NOT NULL, 'close', 'correct')
            END AS _scd_action,
            customer_id,
            street,
            city,
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
-- Redundant: the version before it now has the same values.
WHEN MATCHED AND s._scd_action = 'fold' THEN DELETE
-- A stored version whose end or values change; both are written.
WHEN MATCHED THEN UPDATE SET street = s.street, city = s.city, valid_to = s.valid_to, is_current = s.is_current
-- A version that is not stored yet.
WHEN NOT MATCHED THEN
    INSERT (customer_id, street, city, valid_from, valid_to, is_current)
    VALUES (s.customer_id, s.street, s.city, s.valid_from, s.valid_to, s.is_current);
