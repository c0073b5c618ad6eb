-- tpcdi.account: Accounts as their own actions and rows tell them
-- Merges a batch of changes into the history of their keys; other keys stay as they are.
-- Late changes: split or shorten the version that they fall into; one at the start of a version replaces its values.
-- Rows that change nothing: open a version, too.
-- Deletes: the source has none.
-- Columns that a change does not give: keep the value that they had.
-- Stops if: a key or time is NULL, a year is not in 1 to 9999, a row sets a column that the spec does not have, rows
-- tie for the greatest sequence of a key and time but differ, a row before the batch's first arrives during the run, a
-- time is not before DATE '9999-12-31', the end of open versions, or the session's settings change the result.
-- Generated from specs/tpcdi/account.yml, feed actions. To change it, edit the spec and run `scdgen generate`.

-- The batch affects no version whose stored end is before this time, so Delta can skip their files.
DECLARE OR REPLACE VARIABLE _scd_batch_from DATE;
SET VARIABLE _scd_batch_from = (SELECT MIN(CAST(day AS DATE)) FROM tpcdi_raw.account_actions);

MERGE INTO tpcdi.account AS t USING (
    WITH source_rows AS (
        -- The source's rows, with the target's column names and types.
        -- _scd_rest has the columns with `track: false`.
        SELECT
            CAST(account_id AS BIGINT) AS account_id,
            STRUCT(
                CAST(broker_id AS BIGINT) AS broker_id,
                CAST(customer_id AS BIGINT) AS customer_id,
                CAST(status AS STRING) AS status,
                CAST(account_desc AS STRING) AS account_desc,
                CAST(tax_status AS INT) AS tax_status
            ) AS _scd_state,
            STRUCT(CAST(batch_id AS INT) AS batch_id) AS _scd_rest,
            CAST(day AS DATE) AS _scd_at,
            ARRAY_SORT(ARRAY_DISTINCT(TRANSFORM(CAST(sets AS ARRAY<STRING>), name -> LOWER(name)))) AS _scd_sets,
            at AS _scd_sequence_1
        FROM tpcdi_raw.account_actions
    ),
    ranked AS (
        -- At one key and time the row with the greatest `at` wins.
        SELECT *, RANK() OVER (PARTITION BY account_id, _scd_at ORDER BY _scd_sequence_1 DESC) AS _scd_nth
        FROM source_rows
    ),
    given AS (
        -- What a row sets; NULL for a column not in _scd_sets (no list: sets all). Ties may not differ in it.
        SELECT
            *,
            STRUCT(
                IF(
                    ARRAY_CONTAINS(_scd_sets, 'broker_id') IS NOT FALSE, STRUCT(_scd_state.broker_id), NULL
                ) AS broker_id,
                IF(
                    ARRAY_CONTAINS(_scd_sets, 'customer_id') IS NOT FALSE, STRUCT(_scd_state.customer_id), NULL
                ) AS customer_id,
                IF(ARRAY_CONTAINS(_scd_sets, 'status') IS NOT FALSE, STRUCT(_scd_state.status), NULL) AS status,
                IF(
                    ARRAY_CONTAINS(_scd_sets, 'account_desc') IS NOT FALSE, STRUCT(_scd_state.account_desc), NULL
                ) AS account_desc,
                IF(
                    ARRAY_CONTAINS(_scd_sets, 'tax_status') IS NOT FALSE, STRUCT(_scd_state.tax_status), NULL
                ) AS tax_status,
                IF(ARRAY_CONTAINS(_scd_sets, 'batch_id') IS NOT FALSE, STRUCT(_scd_rest.batch_id), NULL) AS batch_id
            ) AS _scd_given
        FROM ranked
    ),
    changes AS (
        -- One row per key and time. A row that breaks a rule stops the statement.
        SELECT
            account_id, _scd_at,
            MIN_BY(_scd_state, _scd_given) FILTER (WHERE _scd_nth = 1) AS _scd_state,
            MIN_BY(_scd_rest, _scd_given) FILTER (WHERE _scd_nth = 1) AS _scd_rest,
            MIN_BY(_scd_sets, _scd_given) FILTER (WHERE _scd_nth = 1) AS _scd_sets
        FROM given
        GROUP BY account_id, _scd_at
        HAVING CASE
            WHEN TYPEOF(COALESCE(1, '')) = 'string' THEN RAISE_ERROR('[SCDGEN_SETTINGS] tpcdi.account: needs ANSI mode')
            WHEN CURRENT_TIMEZONE() NOT IN ('UTC', 'Etc/UTC', 'GMT')
                THEN RAISE_ERROR('[SCDGEN_TIME_ZONE] tpcdi.account: run SET TIME ZONE \'UTC\' first')
            WHEN account_id IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] tpcdi.account: account_id is NULL')
            WHEN BOOL_OR(
                SIZE(
                    ARRAY_EXCEPT(
                        _scd_sets,
                        ARRAY(
                            'account_id', 'broker_id', 'customer_id', 'status', 'account_desc', 'tax_status', 'batch_id'
                        )
                    )
                ) > 0
            )
                THEN RAISE_ERROR(
                    '[SCDGEN_UNKNOWN_COLUMN] tpcdi.account: source.sets names a column that the spec does not have'
                )
            WHEN YEAR(_scd_at) NOT BETWEEN 1 AND 9999
                THEN RAISE_ERROR('[SCDGEN_YEAR] tpcdi.account: year not in 1-9999')
            WHEN _scd_at IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_TIME] tpcdi.account: day is NULL')
            WHEN _scd_at >= DATE '9999-12-31'
                THEN RAISE_ERROR('[SCDGEN_NULL_TIME] tpcdi.account: day is not before the open end')
            WHEN MIN(_scd_given) FILTER (WHERE _scd_nth = 1)
                IS DISTINCT FROM MAX(_scd_given) FILTER (WHERE _scd_nth = 1)
                THEN RAISE_ERROR('[SCDGEN_CONFLICT] tpcdi.account: two rows differ: '
                    || TO_JSON(STRUCT(account_id, _scd_at)))
            WHEN _scd_at >= _scd_batch_from THEN TRUE
            ELSE RAISE_ERROR('[SCDGEN_SOURCE_CHANGED] tpcdi.account: the source changed during the run')
        END
    ),
    stored AS (
        -- The versions that a change can affect; _scd_to is exclusive. Delta skips files by _scd_batch_from.
        SELECT
            t.account_id, t.effective_date AS _scd_from,
            NULLIF(t.end_date, DATE '9999-12-31') AS _scd_to,
            STRUCT(t.broker_id, t.customer_id, t.status, t.account_desc, t.tax_status) AS _scd_state,
            STRUCT(t.batch_id) AS _scd_rest
        FROM tpcdi.account AS t
        LEFT SEMI JOIN changes AS c ON t.account_id = c.account_id AND t.end_date >= c._scd_at
        WHERE t.end_date >= _scd_batch_from
    ),
    events AS (
        -- The state of a key from a time on, NULL for none: a change (rank 1), or a start (2) or end (3) of a version.
        SELECT account_id, _scd_at, _scd_state, _scd_rest, _scd_sets, NULL AS _scd_stored, 1 AS _scd_rank FROM changes
        UNION ALL
        SELECT v.account_id, e._scd_at, e._scd_state, e._scd_rest, NULL, e._scd_stored, e._scd_rank
        FROM stored AS v
            LATERAL VIEW STACK(2,
                v._scd_from, v._scd_state, v._scd_rest, STRUCT(v._scd_state, v._scd_rest, v._scd_to), 2,
                v._scd_to, NULL, NULL, NULL, 3
            ) e AS _scd_at, _scd_state, _scd_rest, _scd_stored, _scd_rank
        WHERE e._scd_at IS NOT NULL
        DISTRIBUTE BY account_id -- of the whole UNION: one shuffle serves every step
    ),
    states AS (
        -- One row per key and time: a change wins over what is stored. _scd_stored: the stored version with this start.
        SELECT
            account_id, _scd_at,
            MIN_BY(_scd_state, _scd_rank) AS _scd_state,
            MIN_BY(_scd_rest, _scd_rank) AS _scd_rest,
            MIN_BY(_scd_sets, _scd_rank) AS _scd_sets,
            MAX(_scd_stored) AS _scd_stored
        FROM events
        GROUP BY account_id, _scd_at
    ),
    lives AS (
        -- Numbers the lives of a key: one ends where the key has no state.
        SELECT
            *,
            COUNT_IF(_scd_state IS NULL) OVER (PARTITION BY account_id ORDER BY _scd_at) AS _scd_life,
            -- What a change gives, NULL for a column that it does not give. Stored versions (no list) give all.
            STRUCT(
                IF(
                    ARRAY_CONTAINS(_scd_sets, 'broker_id') IS NOT FALSE, STRUCT(_scd_state.broker_id), NULL
                ) AS broker_id,
                IF(
                    ARRAY_CONTAINS(_scd_sets, 'customer_id') IS NOT FALSE, STRUCT(_scd_state.customer_id), NULL
                ) AS customer_id,
                IF(ARRAY_CONTAINS(_scd_sets, 'status') IS NOT FALSE, STRUCT(_scd_state.status), NULL) AS status,
                IF(
                    ARRAY_CONTAINS(_scd_sets, 'account_desc') IS NOT FALSE, STRUCT(_scd_state.account_desc), NULL
                ) AS account_desc,
                IF(
                    ARRAY_CONTAINS(_scd_sets, 'tax_status') IS NOT FALSE, STRUCT(_scd_state.tax_status), NULL
                ) AS tax_status,
                IF(ARRAY_CONTAINS(_scd_sets, 'batch_id') IS NOT FALSE, STRUCT(_scd_rest.batch_id), NULL) AS batch_id
            ) AS _scd_given
        FROM states
    ),
    filled AS (
        -- A column that a change does not give has the value before it.
        SELECT
            account_id, _scd_at, _scd_stored,
            CASE
                WHEN _scd_state IS NOT NULL
                    THEN STRUCT(
                        (LAST_VALUE(_scd_given.broker_id) IGNORE NULLS OVER by_life).broker_id AS broker_id,
                        (LAST_VALUE(_scd_given.customer_id) IGNORE NULLS OVER by_life).customer_id AS customer_id,
                        (LAST_VALUE(_scd_given.status) IGNORE NULLS OVER by_life).status AS status,
                        (LAST_VALUE(_scd_given.account_desc) IGNORE NULLS OVER by_life).account_desc AS account_desc,
                        (LAST_VALUE(_scd_given.tax_status) IGNORE NULLS OVER by_life).tax_status AS tax_status
                    )
            END AS _scd_state,
            CASE
                WHEN _scd_state IS NOT NULL
                    THEN STRUCT((LAST_VALUE(_scd_given.batch_id) IGNORE NULLS OVER by_life).batch_id AS batch_id)
            END AS _scd_rest
        FROM lives
        WINDOW by_life AS (PARTITION BY account_id, _scd_life ORDER BY _scd_at)
    ),
    starts AS (
        -- Each event with a state opens a version.
        SELECT *, _scd_state IS NOT NULL AS _scd_opens FROM filled
    ),
    versions AS (
        -- Each event, with the exclusive end of its version: the next event (each opens one or has no state).
        SELECT *, LEAD(_scd_at) OVER by_key AS _scd_to
        FROM starts
        WINDOW by_key AS (PARTITION BY account_id ORDER BY _scd_at)
    )
    -- What differs from what is stored.
    SELECT
        account_id, _scd_state.*, _scd_rest.*, _scd_at AS effective_date,
        COALESCE(_scd_to, DATE '9999-12-31') AS end_date,
        _scd_to IS NULL AS is_current
    FROM versions
    WHERE _scd_stored IS DISTINCT FROM CASE WHEN _scd_opens THEN STRUCT(_scd_state, _scd_rest, _scd_to) END
) AS s
    -- A key and a start identify a version; the rest lets Delta skip files.
    ON t.account_id = s.account_id AND t.effective_date = s.effective_date AND t.end_date >= _scd_batch_from
WHEN MATCHED THEN UPDATE SET
    broker_id = s.broker_id, customer_id = s.customer_id, status = s.status, account_desc = s.account_desc,
    tax_status = s.tax_status, batch_id = s.batch_id, end_date = s.end_date, is_current = s.is_current
WHEN NOT MATCHED THEN INSERT (
    account_id, broker_id, customer_id, status, account_desc, tax_status, batch_id, effective_date, end_date, is_current
) VALUES (
    s.account_id, s.broker_id, s.customer_id, s.status, s.account_desc, s.tax_status, s.batch_id, s.effective_date,
    s.end_date, s.is_current
);
