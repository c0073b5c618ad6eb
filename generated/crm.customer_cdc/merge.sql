-- crm.customer_cdc: Customers, from a change feed with deletes; an update comes as a delete and an insert of one time
-- Merges a batch of changes into the history of their keys; other keys stay as they are.
-- Late changes: split or shorten the version that they fall into; one at the start of a version replaces its values if
-- its sequence is greater.
-- Rows that change nothing: open no version.
-- Deletes: end the version of their key.
-- Stops if: a key or time is NULL, a year is not in 1 to 9999, rows tie for the greatest sequence of a key and time but
-- differ, or the session's settings change the result.
-- The same rows again: change nothing, except that a row at the time of a removed redundant version counts again.
-- Generated from specs/customer_cdc.yml. To change it, edit the spec and run `scdgen generate`.

MERGE INTO crm.customer_cdc AS t USING (
    WITH source_rows AS (
        -- The source's rows, with the target's column names and types.
        SELECT
            CAST(company AS STRING) AS company,
            CAST(customer_no AS STRING) AS customer_no,
            STRUCT(CAST(name AS STRING) AS name, CAST(city AS STRING) AS city) AS _scd_state,
            CAST(changed_at AS TIMESTAMP) AS _scd_at,
            COALESCE(op = 'D', FALSE) AS _scd_deleted,
            CAST(lsn AS BIGINT) AS _scd_sequence
        FROM crm.customer_feed
    ),
    ranked AS (
        -- At one key and time the row with the greatest `lsn` wins.
        SELECT *, RANK() OVER (PARTITION BY company, customer_no, _scd_at ORDER BY _scd_sequence DESC) AS _scd_nth
        FROM source_rows
    ),
    changes AS (
        -- One row per key and time; _scd_differs: those that win differ. A row that breaks a rule stops the statement.
        SELECT
            company, customer_no, _scd_at,
            MIN(_scd_state) FILTER (WHERE _scd_nth = 1 AND NOT _scd_deleted) AS _scd_state,
            MAX(_scd_sequence) AS _scd_sequence,
            BOOL_OR(_scd_deleted) FILTER (WHERE _scd_nth = 1) <> BOOL_AND(_scd_deleted) FILTER (WHERE _scd_nth = 1)
                OR MIN(_scd_state) FILTER (WHERE _scd_nth = 1 AND NOT _scd_deleted)
                    IS DISTINCT FROM MAX(_scd_state) FILTER (WHERE _scd_nth = 1 AND NOT _scd_deleted)
                AS _scd_differs
        FROM ranked
        GROUP BY company, customer_no, _scd_at
        HAVING CASE
            WHEN TYPEOF(COALESCE(1, '')) = 'string' OR TYPEOF(CAST(NULL AS TIMESTAMP)) <> 'timestamp'
                THEN RAISE_ERROR('[SCDGEN_SETTINGS] crm.customer_cdc: needs ANSI mode and TIMESTAMP_LTZ')
            WHEN CURRENT_TIMEZONE() NOT IN ('UTC', 'Etc/UTC', 'GMT')
                THEN RAISE_ERROR('[SCDGEN_TIME_ZONE] crm.customer_cdc: run SET TIME ZONE \'UTC\' first')
            WHEN COUNT(*) = 0 THEN FALSE -- never: without an aggregate, Spark may test rules before source filters
            WHEN company IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] crm.customer_cdc: company is NULL')
            WHEN customer_no IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] crm.customer_cdc: customer_no is NULL')
            WHEN YEAR(_scd_at) NOT BETWEEN 1 AND 9999
                THEN RAISE_ERROR('[SCDGEN_YEAR] crm.customer_cdc: year not in 1-9999')
            WHEN _scd_at IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_TIME] crm.customer_cdc: changed_at is NULL')
            ELSE TRUE
        END
    ),
    stored AS (
        -- The stored versions of the batch's keys.
        SELECT
            t.company, t.customer_no, t.valid_from AS _scd_from, t.valid_to AS _scd_to,
            STRUCT(t.name, t.city) AS _scd_state,
            t.action, t.lsn AS _scd_sequence
        FROM crm.customer_cdc AS t
        LEFT SEMI JOIN changes AS c ON t.company = c.company AND t.customer_no = c.customer_no
    ),
    events AS (
        -- The state of a key from a time on, NULL for none: a change (rank 1), or a start (2) or end (3) of a version.
        -- _scd_class, the least wins: 1 a change or a version with a sequence (greatest wins), 2 one without, 3 an end.
        SELECT
            company, customer_no, _scd_at, _scd_state, _scd_sequence, NULL AS _scd_stored, 1 AS _scd_rank,
            1 AS _scd_class, _scd_differs
        FROM changes
        UNION ALL
        SELECT
            v.company, v.customer_no, e._scd_at, e._scd_state, e._scd_sequence, e._scd_stored, e._scd_rank,
            e._scd_class, FALSE
        FROM stored AS v
            LATERAL VIEW STACK(2,
                v._scd_from, v._scd_state, v._scd_sequence, STRUCT(v._scd_state, v.action, v._scd_sequence, v._scd_to),
                2, IF(v._scd_sequence IS NULL, 2, 1),
                v._scd_to, NULL, NULL, NULL, 3, 3
            ) e AS _scd_at, _scd_state, _scd_sequence, _scd_stored, _scd_rank, _scd_class
        WHERE e._scd_at IS NOT NULL
        DISTRIBUTE BY company, customer_no -- of the whole UNION: one shuffle serves every step
    ),
    states AS (
        -- One row per key and time: the greatest lsn wins; what is stored wins over a change that has the same.
        -- A stored version without one (_scd_class 2) and an end (3) yield to every change.
        SELECT
            company, customer_no, _scd_at,
            MAX_BY(_scd_state, STRUCT(-_scd_class AS _scd_class, _scd_sequence, _scd_rank)) AS _scd_state,
            MAX_BY(_scd_sequence, STRUCT(-_scd_class AS _scd_class, _scd_sequence, _scd_rank)) AS _scd_sequence,
            MAX(_scd_stored) AS _scd_stored
        FROM events
        GROUP BY company, customer_no, _scd_at
        -- Two changes that tie and differ stop the statement, unless what is stored wins over them.
        HAVING CASE
            WHEN MAX_BY(_scd_differs, STRUCT(-_scd_class AS _scd_class, _scd_sequence, _scd_rank))
                THEN RAISE_ERROR('[SCDGEN_CONFLICT] crm.customer_cdc: two rows differ: '
                    || TO_JSON(STRUCT(company, customer_no, _scd_at)))
            ELSE TRUE
        END
    ),
    starts AS (
        -- An event opens a version unless it has no state or repeats the state before it.
        SELECT *, _scd_state IS NOT NULL AND _scd_state IS DISTINCT FROM LAG(_scd_state) OVER by_key AS _scd_opens
        FROM states
        WINDOW by_key AS (PARTITION BY company, customer_no ORDER BY _scd_at)
    ),
    versions AS (
        -- Each event, with the exclusive end of its version: the next event that opens one or has no state.
        SELECT
            *,
            -- The action is D if a delete ends the version, else I if the key did not exist before it, else U.
            COALESCE(LAG(_scd_state IS NULL) OVER by_key, TRUE) AS _scd_begins,
            COALESCE(
                LEAD(IF(_scd_opens OR _scd_state IS NULL, _scd_state IS NULL, NULL)) IGNORE NULLS OVER by_key, FALSE
            ) AS _scd_ends_deleted,
            LEAD(IF(_scd_opens OR _scd_state IS NULL, _scd_at, NULL)) IGNORE NULLS OVER by_key AS _scd_to
        FROM starts
        WINDOW by_key AS (PARTITION BY company, customer_no ORDER BY _scd_at)
    )
    -- What differs from what is stored.
    SELECT
        company, customer_no, _scd_state.*, _scd_at AS valid_from, _scd_to AS valid_to,
        _scd_to IS NULL AS is_current,
        CASE WHEN _scd_ends_deleted THEN 'D' WHEN _scd_begins THEN 'I' ELSE 'U' END AS action,
        _scd_sequence AS lsn, _scd_opens
    FROM versions
    WHERE _scd_stored IS DISTINCT FROM CASE
        WHEN _scd_opens
            THEN STRUCT(
                _scd_state,
                CASE WHEN _scd_ends_deleted THEN 'D' WHEN _scd_begins THEN 'I' ELSE 'U' END AS action,
                _scd_sequence, _scd_to
            )
    END
) AS s
    -- A key and a start identify a version.
    ON t.company = s.company AND t.customer_no = s.customer_no AND t.valid_from = s.valid_from
-- No version starts here any more.
WHEN MATCHED AND NOT s._scd_opens THEN DELETE
WHEN MATCHED THEN UPDATE SET
    name = s.name, city = s.city, valid_to = s.valid_to, is_current = s.is_current, action = s.action, lsn = s.lsn
WHEN NOT MATCHED THEN INSERT (company, customer_no, name, city, valid_from, valid_to, is_current, action, lsn)
    VALUES (s.company, s.customer_no, s.name, s.city, s.valid_from, s.valid_to, s.is_current, s.action, s.lsn);
