-- tpcdi.dim_security: Securities, with a version for each version of their company
-- Joins the histories of several tables: a version holds from one change of any of them to the next.
-- Tables: tpcdi.security, tpcdi.dim_company.
-- Stored versions: are removed if the source has no version with their start.
-- Rows that change nothing: are versions: each row is one.
-- Deletes: a gap between two rows is a delete.
-- Stops if: a version has no key, no start or no time between its start and its end, two versions of a table are valid
-- at a time and differ, or settings of the session would change the result.
-- The same rows again: change nothing.
-- Generated from specs/tpcdi/dim_security.yml. To change it, edit the spec and run `scdgen generate`.

-- To run with another value, write it here. If the session has set since, leave out both statements.
DECLARE OR REPLACE VARIABLE since DATE;

SET VARIABLE since = CAST(NULL AS DATE);

MERGE INTO tpcdi.dim_security AS t USING (
    WITH security AS (
        -- The versions of tpcdi.security, which decide which keys exist, and when.
        SELECT
            *,
            CAST(symbol AS STRING) AS _scd_key_1,
            CAST(effective_date AS DATE) AS _scd_from,
            NULLIF(LEAST(CAST(end_date AS DATE), DATE '9999-12-31'), DATE '9999-12-31') AS _scd_until
        FROM tpcdi.security
    ),
    company AS (
        -- The versions of tpcdi.dim_company, to which security points.
        SELECT
            *,
            CASE
                WHEN company_id IS NULL
                    THEN RAISE_ERROR('[SCDGEN_NULL_KEY] tpcdi.dim_security: a joined version has no key: '
                        || TO_JSON(STRUCT('company' AS _scd_table, company_id, effective_date, end_date)))
                WHEN CAST(effective_date AS DATE) IS NULL
                    THEN RAISE_ERROR('[SCDGEN_NULL_TIME] tpcdi.dim_security: a joined version has no start: '
                        || TO_JSON(STRUCT('company' AS _scd_table, company_id, effective_date, end_date)))
                WHEN NULLIF(LEAST(CAST(end_date AS DATE), DATE '9999-12-31'), DATE '9999-12-31')
                    <= CAST(effective_date AS DATE)
                    THEN RAISE_ERROR(
                        '[SCDGEN_END_BEFORE_START] tpcdi.dim_security: a joined version does not end after its start: '
                            || TO_JSON(STRUCT('company' AS _scd_table, company_id, effective_date, end_date))
                    )
                ELSE company_id
            END AS _scd_key_1,
            CAST(effective_date AS DATE) AS _scd_from,
            NULLIF(LEAST(CAST(end_date AS DATE), DATE '9999-12-31'), DATE '9999-12-31') AS _scd_until
        FROM tpcdi.dim_company
    ),
    periods AS (
        -- The key and the period of each of these versions.
        SELECT 'security' AS _scd_table, _scd_key_1 AS symbol, _scd_from, _scd_until
        FROM security
    ),
    changed AS (
        -- Keys with a version that starts or ends at or after source.changed_since.
        -- So are those that point, in any of their versions, to a parent with one.
        SELECT DISTINCT symbol
        FROM (
            SELECT symbol, _scd_from, _scd_until
            FROM periods
            UNION ALL
            SELECT security._scd_key_1, company._scd_from, company._scd_until
            FROM company
            INNER JOIN security ON security.company_id = company._scd_key_1
        )
        WHERE _scd_from >= session.since OR _scd_until >= session.since
    ),
    pointed AS (
        -- These, and while a version points to a parent, each period in which one of the parent holds.
        SELECT *
        FROM periods
        UNION ALL
        SELECT
            'company' AS _scd_table,
            security._scd_key_1 AS symbol,
            GREATEST(security._scd_from, company._scd_from) AS _scd_from,
            LEAST(security._scd_until, company._scd_until) AS _scd_until
        FROM security
        INNER JOIN company
            ON security.company_id = company._scd_key_1
                AND COALESCE(
                    GREATEST(security._scd_from, company._scd_from) < LEAST(security._scd_until, company._scd_until),
                    TRUE
                )
    ),
    boundaries AS (
        -- Each start and each end of a version.
        -- A version that breaks a rule stops the statement, as does a session that would read values differently.
        SELECT symbol, _scd_at
        FROM (
            SELECT *
            FROM pointed AS p
            WHERE session.since IS NULL
                OR EXISTS (SELECT * FROM changed AS c WHERE p.symbol IS NOT DISTINCT FROM c.symbol)
        )
            LATERAL VIEW EXPLODE(ARRAY(_scd_from, _scd_until)) b AS _scd_at
        WHERE CASE
            WHEN TYPEOF(COALESCE(1, '')) = 'string'
                THEN RAISE_ERROR('[SCDGEN_SETTINGS] tpcdi.dim_security: needs ANSI mode')
            WHEN CURRENT_TIMEZONE() NOT IN ('UTC', 'Etc/UTC', 'GMT')
                THEN RAISE_ERROR('[SCDGEN_TIME_ZONE] tpcdi.dim_security: run SET TIME ZONE \'UTC\' first')
            WHEN symbol IS NULL
                THEN RAISE_ERROR('[SCDGEN_NULL_KEY] tpcdi.dim_security: a joined version has no key: '
                    || TO_JSON(STRUCT(symbol, _scd_table, _scd_from, _scd_until)))
            WHEN _scd_from IS NULL
                THEN RAISE_ERROR('[SCDGEN_NULL_TIME] tpcdi.dim_security: a joined version has no start: '
                    || TO_JSON(STRUCT(symbol, _scd_table, _scd_from, _scd_until)))
            WHEN _scd_until <= _scd_from
                THEN RAISE_ERROR(
                    '[SCDGEN_END_BEFORE_START] tpcdi.dim_security: a joined version does not end after its start: '
                        || TO_JSON(STRUCT(symbol, _scd_table, _scd_from, _scd_until))
                )
            ELSE _scd_at IS NOT NULL
        END
        DISTRIBUTE BY symbol -- one shuffle serves all steps until the versions
    ),
    spans AS (
        -- From each boundary of a key to the next: no version of any table starts or ends in between.
        SELECT symbol, _scd_at, LEAD(_scd_at) OVER (PARTITION BY symbol ORDER BY _scd_at) AS _scd_until
        FROM boundaries
        GROUP BY symbol, _scd_at
    ),
    source_rows AS (
        -- Each span with the version of each table that is valid in it, with the target's column names and types.
        -- Rows without one of the first table are left out below: an INNER JOIN could drop a NULL key before its rule.
        SELECT
            spans.symbol,
            STRUCT(
                CAST(security.issue AS STRING) AS issue,
                CAST(security.status AS STRING) AS status,
                CAST(security.name AS STRING) AS name,
                CAST(security.exchange_id AS STRING) AS exchange_id,
                CAST(company.sk_company_id AS BIGINT) AS sk_company_id,
                CAST(security.shares_outstanding AS BIGINT) AS shares_outstanding,
                CAST(security.first_trade AS DATE) AS first_trade,
                CAST(security.first_trade_on_exchange AS DATE) AS first_trade_on_exchange,
                CAST(security.dividend AS DECIMAL(10, 2)) AS dividend
            ) AS _scd_state,
            STRUCT(CAST(greatest(security.batch_id, company.batch_id) AS INT) AS batch_id) AS _scd_rest,
            spans._scd_at,
            spans._scd_until,
            security._scd_from IS NOT NULL AS _scd_exists
        FROM spans
        LEFT JOIN security
            ON spans.symbol = security._scd_key_1
                AND spans._scd_at >= security._scd_from
                AND (security._scd_until IS NULL OR spans._scd_at < security._scd_until)
        LEFT JOIN company
            ON security.company_id = company._scd_key_1
                AND spans._scd_at >= company._scd_from
                AND (company._scd_until IS NULL OR spans._scd_at < company._scd_until)
    ),
    given AS (
        -- One row per key and start: copies of a row count once. A row that breaks a rule stops the statement.
        SELECT
            symbol,
            _scd_at,
            MIN(_scd_until) AS _scd_until,
            MIN(_scd_state) AS _scd_state,
            MIN(_scd_rest) AS _scd_rest
        FROM source_rows
        GROUP BY symbol, _scd_at
        HAVING CASE
            WHEN NOT BOOL_OR(_scd_exists) THEN FALSE
            WHEN _scd_at >= DATE '9999-12-31'
                THEN RAISE_ERROR('[SCDGEN_NULL_TIME] tpcdi.dim_security: a version starts or ends after the open end')
            WHEN MIN(_scd_state) IS DISTINCT FROM MAX(_scd_state) OR MIN(_scd_rest) IS DISTINCT FROM MAX(_scd_rest)
                THEN RAISE_ERROR('[SCDGEN_CONFLICT] tpcdi.dim_security: two different rows of one key and time: '
                    || TO_JSON(STRUCT(symbol, _scd_at)))
            ELSE TRUE
        END
    ),
    stored AS (
        -- The stored versions of the changed keys of the first table.
        SELECT
            t.symbol,
            t.effective_date AS _scd_at,
            STRUCT(
                STRUCT(
                    t.issue, t.status, t.name, t.exchange_id, t.sk_company_id, t.shares_outstanding, t.first_trade,
                    t.first_trade_on_exchange, t.dividend
                ) AS _scd_state,
                STRUCT(t.batch_id) AS _scd_rest,
                NULLIF(t.end_date, DATE '9999-12-31') AS _scd_until
            ) AS _scd_stored
        FROM tpcdi.dim_security AS t
        LEFT SEMI JOIN security AS g ON t.symbol = g._scd_key_1
        WHERE session.since IS NULL OR EXISTS (SELECT * FROM changed AS c WHERE t.symbol = c.symbol)
    )
    -- What differs from what is stored.
    SELECT
        symbol,
        _scd_state.*,
        _scd_rest.*,
        XXHASH64(TO_JSON(ARRAY(symbol, CAST(_scd_at AS STRING)))) AS sk_security_id,
        _scd_at AS effective_date,
        COALESCE(_scd_until, DATE '9999-12-31') AS end_date,
        _scd_until IS NULL AS is_current,
        _scd_state IS NOT NULL AS _scd_opens
    FROM given
    FULL OUTER JOIN stored USING (symbol, _scd_at)
    WHERE _scd_stored
        IS DISTINCT FROM CASE WHEN _scd_state IS NOT NULL THEN STRUCT(_scd_state, _scd_rest, _scd_until) END
) AS s
    -- A key and a start identify a version.
    ON t.symbol = s.symbol AND t.effective_date = s.effective_date
-- The source has no version with this start.
WHEN MATCHED AND NOT s._scd_opens THEN DELETE
-- A stored version whose end or values change; both are written.
WHEN MATCHED THEN
    UPDATE SET
        issue = s.issue, status = s.status, name = s.name, exchange_id = s.exchange_id, sk_company_id = s.sk_company_id,
        shares_outstanding = s.shares_outstanding, first_trade = s.first_trade,
        first_trade_on_exchange = s.first_trade_on_exchange, dividend = s.dividend, batch_id = s.batch_id,
        end_date = s.end_date, is_current = s.is_current
-- A version that is not stored yet.
WHEN NOT MATCHED THEN
    INSERT (
        symbol, issue, status, name, exchange_id, sk_company_id, shares_outstanding, first_trade,
        first_trade_on_exchange, dividend, batch_id, sk_security_id, effective_date, end_date, is_current
    )
    VALUES (
        s.symbol, s.issue, s.status, s.name, s.exchange_id, s.sk_company_id, s.shares_outstanding, s.first_trade,
        s.first_trade_on_exchange, s.dividend, s.batch_id, s.sk_security_id, s.effective_date, s.end_date, s.is_current
    );
