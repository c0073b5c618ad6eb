-- tpcdi.dim_broker: Employees who are brokers
-- Merges a batch of changes into the history of their keys; other keys stay as they are.
-- Late changes: split or shorten the version that they fall into; one at the start of a version replaces its values.
-- Rows that change nothing: open a version, too.
-- Deletes: the source has none.
-- Stops if: a key or time is NULL, a year is not in 1 to 9999, rows of one key and time differ, a row before the
-- batch's first arrives during the run, a time is not before DATE '9999-12-31', the end of open versions, or the
-- session's settings change the result.
-- Generated from specs/tpcdi/dim_broker.yml. To change it, edit the spec and run `scdgen generate`.

-- The batch affects no version whose stored end is before this time, so Delta can skip their files.
DECLARE OR REPLACE VARIABLE _scd_batch_from DATE;
SET VARIABLE _scd_batch_from = (SELECT MIN(CAST(DATE '1950-01-01' AS DATE)) FROM tpcdi_raw.hr WHERE job_code = '314');

MERGE INTO tpcdi.dim_broker AS t USING (
    WITH source_rows AS (
        -- The source's rows, with the target's column names and types.
        -- _scd_rest has the columns with `track: false`.
        SELECT
            CAST(employee_id AS BIGINT) AS broker_id,
            STRUCT(
                CAST(manager_id AS BIGINT) AS manager_id,
                CAST(first_name AS STRING) AS first_name,
                CAST(last_name AS STRING) AS last_name,
                CAST(middle_initial AS STRING) AS middle_initial,
                CAST(branch AS STRING) AS branch,
                CAST(office AS STRING) AS office,
                CAST(phone AS STRING) AS phone
            ) AS _scd_state,
            STRUCT(CAST(1 AS INT) AS batch_id) AS _scd_rest,
            CAST(DATE '1950-01-01' AS DATE) AS _scd_at
        FROM tpcdi_raw.hr
        WHERE job_code = '314'
    ),
    changes AS (
        -- One row per key and time. A row that breaks a rule stops the statement.
        SELECT broker_id, _scd_at, MIN(_scd_state) AS _scd_state, MIN(_scd_rest) AS _scd_rest
        FROM source_rows
        GROUP BY broker_id, _scd_at
        HAVING CASE
            WHEN TYPEOF(COALESCE(1, '')) = 'string'
                THEN RAISE_ERROR('[SCDGEN_SETTINGS] tpcdi.dim_broker: needs ANSI mode')
            WHEN CURRENT_TIMEZONE() NOT IN ('UTC', 'Etc/UTC', 'GMT')
                THEN RAISE_ERROR('[SCDGEN_TIME_ZONE] tpcdi.dim_broker: run SET TIME ZONE \'UTC\' first')
            WHEN broker_id IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] tpcdi.dim_broker: broker_id is NULL')
            WHEN YEAR(_scd_at) NOT BETWEEN 1 AND 9999
                THEN RAISE_ERROR('[SCDGEN_YEAR] tpcdi.dim_broker: year not in 1-9999')
            WHEN _scd_at IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_TIME] tpcdi.dim_broker: effective_at is NULL')
            WHEN _scd_at >= DATE '9999-12-31'
                THEN RAISE_ERROR('[SCDGEN_NULL_TIME] tpcdi.dim_broker: effective_at is not before the open end')
            WHEN MIN(_scd_state) IS DISTINCT FROM MAX(_scd_state) OR MIN(_scd_rest) IS DISTINCT FROM MAX(_scd_rest)
                THEN RAISE_ERROR('[SCDGEN_CONFLICT] tpcdi.dim_broker: two rows differ: '
                    || TO_JSON(STRUCT(broker_id, _scd_at)))
            WHEN _scd_at >= _scd_batch_from THEN TRUE
            ELSE RAISE_ERROR('[SCDGEN_SOURCE_CHANGED] tpcdi.dim_broker: the source changed during the run')
        END
    ),
    stored AS (
        -- The versions that a change can affect; _scd_to is exclusive. Delta skips files by _scd_batch_from.
        SELECT
            t.broker_id, t.effective_date AS _scd_from,
            NULLIF(t.end_date, DATE '9999-12-31') AS _scd_to,
            STRUCT(
                t.manager_id, t.first_name, t.last_name, t.middle_initial, t.branch, t.office, t.phone
            ) AS _scd_state,
            STRUCT(t.batch_id) AS _scd_rest
        FROM tpcdi.dim_broker AS t
        LEFT SEMI JOIN changes AS c ON t.broker_id = c.broker_id AND t.end_date >= c._scd_at
        WHERE t.end_date >= _scd_batch_from
    ),
    events AS (
        -- The state of a key from a time on, NULL for none: a change (rank 1), or a start (2) or end (3) of a version.
        SELECT broker_id, _scd_at, _scd_state, _scd_rest, NULL AS _scd_stored, 1 AS _scd_rank FROM changes
        UNION ALL
        SELECT v.broker_id, e._scd_at, e._scd_state, e._scd_rest, e._scd_stored, e._scd_rank
        FROM stored AS v
            LATERAL VIEW STACK(2,
                v._scd_from, v._scd_state, v._scd_rest, STRUCT(v._scd_state, v._scd_rest, v._scd_to), 2,
                v._scd_to, NULL, NULL, NULL, 3
            ) e AS _scd_at, _scd_state, _scd_rest, _scd_stored, _scd_rank
        WHERE e._scd_at IS NOT NULL
        DISTRIBUTE BY broker_id -- of the whole UNION: one shuffle serves every step
    ),
    states AS (
        -- One row per key and time: a change wins over what is stored. _scd_stored: the stored version with this start.
        SELECT
            broker_id, _scd_at,
            MIN_BY(_scd_state, _scd_rank) AS _scd_state,
            MIN_BY(_scd_rest, _scd_rank) AS _scd_rest,
            MAX(_scd_stored) AS _scd_stored
        FROM events
        GROUP BY broker_id, _scd_at
    ),
    starts AS (
        -- Each event with a state opens a version.
        SELECT *, _scd_state IS NOT NULL AS _scd_opens FROM states
    ),
    versions AS (
        -- Each event, with the exclusive end of its version: the next event (each opens one or has no state).
        SELECT *, LEAD(_scd_at) OVER by_key AS _scd_to
        FROM starts
        WINDOW by_key AS (PARTITION BY broker_id ORDER BY _scd_at)
    )
    -- What differs from what is stored.
    SELECT
        broker_id, _scd_state.*, _scd_rest.*,
        XXHASH64(TO_JSON(ARRAY(CAST(broker_id AS STRING), CAST(_scd_at AS STRING)))) AS sk_broker_id,
        _scd_at AS effective_date,
        COALESCE(_scd_to, DATE '9999-12-31') AS end_date,
        _scd_to IS NULL AS is_current
    FROM versions
    WHERE _scd_stored IS DISTINCT FROM CASE WHEN _scd_opens THEN STRUCT(_scd_state, _scd_rest, _scd_to) END
) AS s
    -- A key and a start identify a version; the rest lets Delta skip files.
    ON t.broker_id = s.broker_id AND t.effective_date = s.effective_date AND t.end_date >= _scd_batch_from
WHEN MATCHED THEN UPDATE SET
    manager_id = s.manager_id, first_name = s.first_name, last_name = s.last_name, middle_initial = s.middle_initial,
    branch = s.branch, office = s.office, phone = s.phone, batch_id = s.batch_id, end_date = s.end_date,
    is_current = s.is_current
WHEN NOT MATCHED THEN INSERT (
    broker_id, manager_id, first_name, last_name, middle_initial, branch, office, phone, batch_id, sk_broker_id,
    effective_date, end_date, is_current
) VALUES (
    s.broker_id, s.manager_id, s.first_name, s.last_name, s.middle_initial, s.branch, s.office, s.phone, s.batch_id,
    s.sk_broker_id, s.effective_date, s.end_date, s.is_current
);
