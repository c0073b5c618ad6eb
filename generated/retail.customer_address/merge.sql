-- retail.customer_address: Where customers live, from the delivery system
-- Merges a batch of changes into the history of their keys; other keys stay as they are.
-- Late changes: split or shorten the version that they fall into; one at the start of a version replaces its values.
-- Rows that change nothing: open no version.
-- Deletes: the source has none.
-- Stops if: a key or time is NULL, a year is not in 1 to 9999, rows of one key and time differ, a row before the
-- batch's first arrives during the run, or the session's settings change the result.
-- Generated from specs/sales/customer_address.yml. To change it, edit the spec and run `scdgen generate`.

-- The batch affects no version whose stored end is before this time, so Delta can skip their files.
DECLARE OR REPLACE VARIABLE _scd_batch_from TIMESTAMP;
SET VARIABLE _scd_batch_from = (SELECT MIN(CAST(moved_at AS TIMESTAMP)) FROM retail_landing.address_changes);

MERGE INTO retail.customer_address AS t USING (
    WITH source_rows AS (
        -- The source's rows, with the target's column names and types.
        SELECT
            CAST(customer_id AS INT) AS customer_id,
            STRUCT(CAST(street AS STRING) AS street, CAST(city AS STRING) AS city) AS _scd_state,
            CAST(moved_at AS TIMESTAMP) AS _scd_at
        FROM retail_landing.address_changes
    ),
    changes AS (
        -- One row per key and time. A row that breaks a rule stops the statement.
        SELECT customer_id, _scd_at, MIN(_scd_state) AS _scd_state
        FROM source_rows
        GROUP BY customer_id, _scd_at
        HAVING CASE
            WHEN TYPEOF(COALESCE(1, '')) = 'string' OR TYPEOF(CAST(NULL AS TIMESTAMP)) <> 'timestamp'
                THEN RAISE_ERROR('[SCDGEN_SETTINGS] retail.customer_address: needs ANSI mode and TIMESTAMP_LTZ')
            WHEN CURRENT_TIMEZONE() NOT IN ('UTC', 'Etc/UTC', 'GMT')
                THEN RAISE_ERROR('[SCDGEN_TIME_ZONE] retail.customer_address: run SET TIME ZONE \'UTC\' first')
            WHEN customer_id IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] retail.customer_address: customer_id is NULL')
            WHEN YEAR(_scd_at) NOT BETWEEN 1 AND 9999
                THEN RAISE_ERROR('[SCDGEN_YEAR] retail.customer_address: year not in 1-9999')
            WHEN _scd_at IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_TIME] retail.customer_address: moved_at is NULL')
            WHEN MIN(_scd_state) IS DISTINCT FROM MAX(_scd_state)
                THEN RAISE_ERROR('[SCDGEN_CONFLICT] retail.customer_address: two rows differ: '
                    || TO_JSON(STRUCT(customer_id, _scd_at)))
            WHEN _scd_at >= _scd_batch_from THEN TRUE
            ELSE RAISE_ERROR('[SCDGEN_SOURCE_CHANGED] retail.customer_address: the source changed during the run')
        END
    ),
    stored AS (
        -- The versions that a change can affect; _scd_to is exclusive. Delta skips files by _scd_batch_from.
        SELECT t.customer_id, t.valid_from AS _scd_from, t.valid_to AS _scd_to, STRUCT(t.street, t.city) AS _scd_state
        FROM retail.customer_address AS t
        LEFT SEMI JOIN changes AS c
            ON t.customer_id = c.customer_id AND (t.valid_to IS NULL OR t.valid_to >= c._scd_at)
        WHERE t.valid_to IS NULL OR t.valid_to >= _scd_batch_from
    ),
    events AS (
        -- The state of a key from a time on, NULL for none: a change (rank 1), or a start (2) or end (3) of a version.
        SELECT customer_id, _scd_at, _scd_state, NULL AS _scd_stored, 1 AS _scd_rank FROM changes
        UNION ALL
        SELECT v.customer_id, e._scd_at, e._scd_state, e._scd_stored, e._scd_rank
        FROM stored AS v
            LATERAL VIEW STACK(2,
                v._scd_from, v._scd_state, STRUCT(v._scd_state, v._scd_to), 2,
                v._scd_to, NULL, NULL, 3
            ) e AS _scd_at, _scd_state, _scd_stored, _scd_rank
        WHERE e._scd_at IS NOT NULL
        DISTRIBUTE BY customer_id -- of the whole UNION: one shuffle serves every step
    ),
    states AS (
        -- One row per key and time: a change wins over what is stored. _scd_stored: the stored version with this start.
        SELECT customer_id, _scd_at, MIN_BY(_scd_state, _scd_rank) AS _scd_state, MAX(_scd_stored) AS _scd_stored
        FROM events
        GROUP BY customer_id, _scd_at
    ),
    starts AS (
        -- An event opens a version unless it has no state or repeats the state before it.
        SELECT *, _scd_state IS NOT NULL AND _scd_state IS DISTINCT FROM LAG(_scd_state) OVER by_key AS _scd_opens
        FROM states
        WINDOW by_key AS (PARTITION BY customer_id ORDER BY _scd_at)
    ),
    versions AS (
        -- Each event, with the exclusive end of its version: the next event that opens one or has no state.
        SELECT *, LEAD(IF(_scd_opens OR _scd_state IS NULL, _scd_at, NULL)) IGNORE NULLS OVER by_key AS _scd_to
        FROM starts
        WINDOW by_key AS (PARTITION BY customer_id ORDER BY _scd_at)
    )
    -- What differs from what is stored.
    SELECT
        customer_id, _scd_state.*, _scd_at AS valid_from, _scd_to AS valid_to,
        _scd_to IS NULL AS is_current,
        _scd_opens
    FROM versions
    WHERE _scd_stored IS DISTINCT FROM CASE WHEN _scd_opens THEN STRUCT(_scd_state, _scd_to) END
) AS s
    -- A key and a start identify a version; the rest lets Delta skip files.
    ON t.customer_id = s.customer_id
        AND t.valid_from = s.valid_from
        AND (t.valid_to IS NULL OR t.valid_to >= _scd_batch_from)
-- Redundant: the version before it now has the same values.
WHEN MATCHED AND NOT s._scd_opens THEN DELETE
WHEN MATCHED THEN UPDATE SET street = s.street, city = s.city, valid_to = s.valid_to, is_current = s.is_current
WHEN NOT MATCHED THEN INSERT (customer_id, street, city, valid_from, valid_to, is_current)
    VALUES (s.customer_id, s.street, s.city, s.valid_from, s.valid_to, s.is_current);
