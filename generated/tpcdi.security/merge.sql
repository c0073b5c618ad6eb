-- tpcdi.security: Securities as FINWIRE tells them, with the number of the company
-- Merges a batch of changes into the history of their keys; other keys stay as they are.
-- Late changes: split or shorten the version that they fall into; one at the start of a version replaces its values.
-- Rows that change nothing: open a version, too.
-- Deletes: the source has none.
-- Stops if: a key or time is NULL, a year is not in 1 to 9999, rows tie for the greatest sequence of a key and time but
-- differ, a row before the batch's first arrives during the run, a time is not before DATE '9999-12-31', the end of
-- open versions, or the session's settings change the result.
-- Generated from specs/tpcdi/security.yml. To change it, edit the spec and run `scdgen generate`.

-- The batch affects no version whose stored end is before this time, so Delta can skip their files.
DECLARE OR REPLACE VARIABLE _scd_batch_from DATE;
SET VARIABLE _scd_batch_from = (
    WITH source_query AS (
        SELECT s.*, COALESCE(s.company_number, n.company_id) AS company_id
        FROM tpcdi_raw.finwire_sec AS s
        LEFT JOIN tpcdi.dim_company AS n
            ON s.company_name = n.name AND s.day >= n.effective_date AND s.day < n.end_date
    )
    SELECT MIN(CAST(day AS DATE)) FROM source_query
);

MERGE INTO tpcdi.security AS t USING (
    WITH source_query AS (
        -- The query of the spec.
        SELECT s.*, COALESCE(s.company_number, n.company_id) AS company_id
        FROM tpcdi_raw.finwire_sec AS s
        LEFT JOIN tpcdi.dim_company AS n
            ON s.company_name = n.name AND s.day >= n.effective_date AND s.day < n.end_date
    ),
    source_rows AS (
        -- The source's rows, with the target's column names and types.
        -- _scd_rest has the columns with `track: false`.
        SELECT
            CAST(symbol AS STRING) AS symbol,
            STRUCT(
                CAST(issue AS STRING) AS issue,
                CAST(status AS STRING) AS status,
                CAST(name AS STRING) AS name,
                CAST(exchange_id AS STRING) AS exchange_id,
                CAST(company_id AS BIGINT) AS company_id,
                CAST(shares_outstanding AS BIGINT) AS shares_outstanding,
                CAST(first_trade AS DATE) AS first_trade,
                CAST(first_trade_on_exchange AS DATE) AS first_trade_on_exchange,
                CAST(dividend AS DECIMAL(10, 2)) AS dividend
            ) AS _scd_state,
            STRUCT(CAST(1 AS INT) AS batch_id) AS _scd_rest,
            CAST(day AS DATE) AS _scd_at,
            pts AS _scd_sequence_1
        FROM source_query
    ),
    ranked AS (
        -- At one key and time the row with the greatest `pts` wins.
        SELECT *, RANK() OVER (PARTITION BY symbol, _scd_at ORDER BY _scd_sequence_1 DESC) AS _scd_nth FROM source_rows
    ),
    changes AS (
        -- One row per key and time. A row that breaks a rule stops the statement.
        SELECT
            symbol, _scd_at,
            MIN(_scd_state) FILTER (WHERE _scd_nth = 1) AS _scd_state,
            MIN(_scd_rest) FILTER (WHERE _scd_nth = 1) AS _scd_rest
        FROM ranked
        GROUP BY symbol, _scd_at
        HAVING CASE
            WHEN TYPEOF(COALESCE(1, '')) = 'string'
                THEN RAISE_ERROR('[SCDGEN_SETTINGS] tpcdi.security: needs ANSI mode')
            WHEN CURRENT_TIMEZONE() NOT IN ('UTC', 'Etc/UTC', 'GMT')
                THEN RAISE_ERROR('[SCDGEN_TIME_ZONE] tpcdi.security: run SET TIME ZONE \'UTC\' first')
            WHEN symbol IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] tpcdi.security: symbol is NULL')
            WHEN BOOL_OR(
                YEAR(LEAST(_scd_at, _scd_state.first_trade, _scd_state.first_trade_on_exchange)) NOT BETWEEN 1 AND 9999
                    OR YEAR(
                        GREATEST(_scd_at, _scd_state.first_trade, _scd_state.first_trade_on_exchange)
                    ) NOT BETWEEN 1 AND 9999
            )
                THEN RAISE_ERROR('[SCDGEN_YEAR] tpcdi.security: year not in 1-9999')
            WHEN _scd_at IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_TIME] tpcdi.security: day is NULL')
            WHEN _scd_at >= DATE '9999-12-31'
                THEN RAISE_ERROR('[SCDGEN_NULL_TIME] tpcdi.security: day is not before the open end')
            WHEN MIN(_scd_state) FILTER (WHERE _scd_nth = 1)
                    IS DISTINCT FROM MAX(_scd_state) FILTER (WHERE _scd_nth = 1)
                OR MIN(_scd_rest) FILTER (WHERE _scd_nth = 1)
                    IS DISTINCT FROM MAX(_scd_rest) FILTER (WHERE _scd_nth = 1)
                THEN RAISE_ERROR('[SCDGEN_CONFLICT] tpcdi.security: two rows differ: '
                    || TO_JSON(STRUCT(symbol, _scd_at)))
            WHEN _scd_at >= _scd_batch_from THEN TRUE
            ELSE RAISE_ERROR('[SCDGEN_SOURCE_CHANGED] tpcdi.security: the source changed during the run')
        END
    ),
    stored AS (
        -- The versions that a change can affect; _scd_to is exclusive. Delta skips files by _scd_batch_from.
        SELECT
            t.symbol, t.effective_date AS _scd_from,
            NULLIF(t.end_date, DATE '9999-12-31') AS _scd_to,
            STRUCT(
                t.issue, t.status, t.name, t.exchange_id, t.company_id, t.shares_outstanding, t.first_trade,
                t.first_trade_on_exchange, t.dividend
            ) AS _scd_state,
            STRUCT(t.batch_id) AS _scd_rest
        FROM tpcdi.security AS t
        LEFT SEMI JOIN changes AS c ON t.symbol = c.symbol AND t.end_date >= c._scd_at
        WHERE t.end_date >= _scd_batch_from
    ),
    events AS (
        -- The state of a key from a time on, NULL for none: a change (rank 1), or a start (2) or end (3) of a version.
        SELECT symbol, _scd_at, _scd_state, _scd_rest, NULL AS _scd_stored, 1 AS _scd_rank FROM changes
        UNION ALL
        SELECT v.symbol, e._scd_at, e._scd_state, e._scd_rest, e._scd_stored, e._scd_rank
        FROM stored AS v
            LATERAL VIEW STACK(2,
                v._scd_from, v._scd_state, v._scd_rest, STRUCT(v._scd_state, v._scd_rest, v._scd_to), 2,
                v._scd_to, NULL, NULL, NULL, 3
            ) e AS _scd_at, _scd_state, _scd_rest, _scd_stored, _scd_rank
        WHERE e._scd_at IS NOT NULL
        DISTRIBUTE BY symbol -- of the whole UNION: one shuffle serves every step
    ),
    states AS (
        -- One row per key and time: a change wins over what is stored. _scd_stored: the stored version with this start.
        SELECT
            symbol, _scd_at,
            MIN_BY(_scd_state, _scd_rank) AS _scd_state,
            MIN_BY(_scd_rest, _scd_rank) AS _scd_rest,
            MAX(_scd_stored) AS _scd_stored
        FROM events
        GROUP BY symbol, _scd_at
    ),
    starts AS (
        -- Each event with a state opens a version.
        SELECT *, _scd_state IS NOT NULL AS _scd_opens FROM states
    ),
    versions AS (
        -- Each event, with the exclusive end of its version: the next event (each opens one or has no state).
        SELECT *, LEAD(_scd_at) OVER by_key AS _scd_to
        FROM starts
        WINDOW by_key AS (PARTITION BY symbol ORDER BY _scd_at)
    )
    -- What differs from what is stored.
    SELECT
        symbol, _scd_state.*, _scd_rest.*, _scd_at AS effective_date,
        COALESCE(_scd_to, DATE '9999-12-31') AS end_date,
        _scd_to IS NULL AS is_current
    FROM versions
    WHERE _scd_stored IS DISTINCT FROM CASE WHEN _scd_opens THEN STRUCT(_scd_state, _scd_rest, _scd_to) END
) AS s
    -- A key and a start identify a version; the rest lets Delta skip files.
    ON t.symbol = s.symbol AND t.effective_date = s.effective_date AND t.end_date >= _scd_batch_from
WHEN MATCHED THEN UPDATE SET
    issue = s.issue, status = s.status, name = s.name, exchange_id = s.exchange_id, company_id = s.company_id,
    shares_outstanding = s.shares_outstanding, first_trade = s.first_trade,
    first_trade_on_exchange = s.first_trade_on_exchange, dividend = s.dividend, batch_id = s.batch_id,
    end_date = s.end_date, is_current = s.is_current
WHEN NOT MATCHED THEN INSERT (
    symbol, issue, status, name, exchange_id, company_id, shares_outstanding, first_trade, first_trade_on_exchange,
    dividend, batch_id, effective_date, end_date, is_current
) VALUES (
    s.symbol, s.issue, s.status, s.name, s.exchange_id, s.company_id, s.shares_outstanding, s.first_trade,
    s.first_trade_on_exchange, s.dividend, s.batch_id, s.effective_date, s.end_date, s.is_current
);
