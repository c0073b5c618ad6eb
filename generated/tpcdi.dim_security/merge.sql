-- tpcdi.dim_security: Securities, with a version for each version of their company
-- Joins the histories of several tables: a version holds from one change of any of them to the next.
-- Tables: tpcdi.security, tpcdi.dim_company.
-- Stored versions: are removed if the first table has their key, and no such start.
-- Rows that change nothing: are versions of their own.
-- Deletes: a gap after a row is a delete.
-- Stops if: a time is not before DATE '9999-12-31', the end of open versions, a version has no key, no start or no time
-- between its start and its end, two versions of a table overlap and are no copies, or the session's settings change
-- the result.
-- Generated from specs/tpcdi/dim_security.yml. To change it, edit the spec and run `scdgen generate`.

-- To run with another value, write it below. If the session declares `since` itself, leave out both statements.
DECLARE OR REPLACE VARIABLE since DATE;
SET VARIABLE since = CAST(NULL AS DATE);

MERGE INTO tpcdi.dim_security AS t USING (
    WITH security AS (
        -- The versions of tpcdi.security, which decide which keys exist, and when.
        SELECT
            *,
            -- A version that breaks a rule stops the statement here, where every join reads its key.
            CASE
                WHEN TYPEOF(COALESCE(1, '')) = 'string'
                    THEN RAISE_ERROR('[SCDGEN_SETTINGS] tpcdi.dim_security: needs ANSI mode')
                WHEN CURRENT_TIMEZONE() NOT IN ('UTC', 'Etc/UTC', 'GMT')
                    THEN RAISE_ERROR('[SCDGEN_TIME_ZONE] tpcdi.dim_security: run SET TIME ZONE \'UTC\' first')
                WHEN CAST(symbol AS STRING) IS NULL
                    THEN RAISE_ERROR('[SCDGEN_NULL_KEY] tpcdi.dim_security: a joined version has no key: '
                        || TO_JSON(STRUCT('security' AS _scd_table, symbol, effective_date, end_date)))
                WHEN CAST(effective_date AS DATE) IS NULL
                    THEN RAISE_ERROR('[SCDGEN_NULL_TIME] tpcdi.dim_security: a joined version has no start: '
                        || TO_JSON(STRUCT('security' AS _scd_table, symbol, effective_date, end_date)))
                WHEN NULLIF(LEAST(CAST(end_date AS DATE), DATE '9999-12-31'), DATE '9999-12-31')
                    <= CAST(effective_date AS DATE)
                    THEN RAISE_ERROR(
                        '[SCDGEN_END_BEFORE_START] tpcdi.dim_security: a joined version does not end after its start: '
                            || TO_JSON(STRUCT('security' AS _scd_table, symbol, effective_date, end_date))
                    )
                ELSE CAST(symbol AS STRING)
            END AS _scd_key_1,
            CAST(effective_date AS DATE) AS _scd_from,
            NULLIF(LEAST(CAST(end_date AS DATE), DATE '9999-12-31'), DATE '9999-12-31') AS _scd_to
        FROM tpcdi.security
    ),
    company AS (
        -- The versions of tpcdi.dim_company, to which security points.
        SELECT
            *,
            -- A version that breaks a rule stops the statement here, where every join reads its key.
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
            NULLIF(LEAST(CAST(end_date AS DATE), DATE '9999-12-31'), DATE '9999-12-31') AS _scd_to
        FROM tpcdi.dim_company
    ),
    changed AS (
        -- Keys with a version that starts or ends at or after session.since.
        -- Also those that point, in any of their versions, to a parent with one.
        SELECT DISTINCT _scd_key_1
        FROM (
            SELECT _scd_key_1, _scd_from, _scd_to FROM security
            UNION ALL
            SELECT security._scd_key_1, company._scd_from, company._scd_to
            FROM company
            INNER JOIN security ON security.company_id = company._scd_key_1
        )
        WHERE _scd_from >= session.since OR _scd_to >= session.since
    ),
    chosen AS (
        -- The versions of security of these keys, or of all if session.since is NULL.
        SELECT *
        FROM security AS p
        WHERE session.since IS NULL OR EXISTS (SELECT * FROM changed AS c WHERE p._scd_key_1 = c._scd_key_1)
    ),
    company_times AS (
        -- The versions of company, and a row of NULLs for each period without one: before, between and after them.
        SELECT
            _scd_key_1,
            IF(_scd_part = 'version', sk_company_id, NULL) AS sk_company_id,
            IF(_scd_part = 'version', batch_id, NULL) AS batch_id,
            CASE _scd_part WHEN 'version' THEN _scd_from WHEN 'after' THEN _scd_to END AS _scd_from,
            CASE _scd_part WHEN 'version' THEN _scd_to WHEN 'after' THEN _scd_next ELSE _scd_from END AS _scd_to
        FROM (
            SELECT *, LAG(_scd_from) OVER by_key AS _scd_before, LEAD(_scd_from) OVER by_key AS _scd_next
            FROM company
            WINDOW by_key AS (PARTITION BY _scd_key_1 ORDER BY _scd_from)
        )
            LATERAL VIEW EXPLODE(ARRAY('before', 'version', 'after')) p AS _scd_part
        WHERE CASE _scd_part
            WHEN 'before' THEN _scd_before IS NULL
            -- A gap before the next version, or an end that no version follows.
            WHEN 'after' THEN COALESCE(_scd_to < _scd_next, _scd_to IS NOT NULL)
            ELSE TRUE
        END
    ),
    source_rows AS (
        -- Each version with its parents' versions that overlap it and split it. A NULL start or end is unbounded.
        -- _scd_rest has the columns with `track: false`.
        SELECT
            security._scd_key_1 AS symbol,
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
            GREATEST(security._scd_from, company._scd_from) AS _scd_at,
            LEAST(security._scd_to, company._scd_to) AS _scd_to
        FROM chosen AS security
        LEFT JOIN company_times AS company
            ON security.company_id = company._scd_key_1
                AND COALESCE(
                    GREATEST(security._scd_from, company._scd_from) < LEAST(security._scd_to, company._scd_to), TRUE
                )
        DISTRIBUTE BY symbol -- one shuffle serves all steps until the versions
    ),
    given AS (
        -- One row per key and start: copies of a row count once. A row that breaks a rule stops the statement.
        SELECT
            symbol, _scd_at,
            MIN(_scd_to) AS _scd_to,
            MIN(_scd_state) AS _scd_state,
            MIN(_scd_rest) AS _scd_rest
        FROM source_rows
        GROUP BY symbol, _scd_at
        HAVING CASE
            WHEN _scd_at >= DATE '9999-12-31'
                THEN RAISE_ERROR('[SCDGEN_NULL_TIME] tpcdi.dim_security: a version does not start before the open end')
            WHEN MIN(_scd_state) IS DISTINCT FROM MAX(_scd_state)
                OR MIN(_scd_rest) IS DISTINCT FROM MAX(_scd_rest)
                OR MIN(STRUCT(_scd_to)) IS DISTINCT FROM MAX(STRUCT(_scd_to))
                THEN RAISE_ERROR('[SCDGEN_CONFLICT] tpcdi.dim_security: two rows differ: '
                    || TO_JSON(STRUCT(symbol, _scd_at)))
            ELSE TRUE
        END
    ),
    neighbours AS (
        -- Each row, with the end of the one before.
        SELECT *, LAG(STRUCT(_scd_to)) OVER by_key AS _scd_before
        FROM given
        WINDOW by_key AS (PARTITION BY symbol ORDER BY _scd_at)
    ),
    versions AS (
        -- Each row is a version. Two that overlap stop the statement.
        SELECT symbol, _scd_state, _scd_rest, _scd_at, _scd_to
        FROM neighbours
        WHERE CASE
            WHEN _scd_before IS NULL OR _scd_before._scd_to <= _scd_at THEN TRUE
            ELSE RAISE_ERROR('[SCDGEN_CONFLICT] tpcdi.dim_security: two versions of a table are valid at a time: '
                || TO_JSON(STRUCT(symbol, _scd_at)))
        END
    ),
    stored AS (
        -- The stored versions of the keys to merge.
        SELECT
            t.symbol, t.effective_date AS _scd_at,
            STRUCT(
                STRUCT(
                    t.issue, t.status, t.name, t.exchange_id, t.sk_company_id, t.shares_outstanding, t.first_trade,
                    t.first_trade_on_exchange, t.dividend
                ) AS _scd_state,
                STRUCT(t.batch_id) AS _scd_rest,
                NULLIF(t.end_date, DATE '9999-12-31') AS _scd_to
            ) AS _scd_stored
        FROM tpcdi.dim_security AS t
        LEFT SEMI JOIN ( -- one join to both sets of keys is faster than a join to each
            SELECT _scd_key_1
            FROM security
            WHERE session.since IS NULL
            UNION ALL
            SELECT _scd_key_1 FROM changed
        ) AS g
            ON t.symbol = g._scd_key_1
    )
    -- What differs from what is stored.
    SELECT
        symbol, _scd_state.*, _scd_rest.*,
        XXHASH64(TO_JSON(ARRAY(symbol, CAST(_scd_at AS STRING)))) AS sk_security_id,
        _scd_at AS effective_date,
        COALESCE(_scd_to, DATE '9999-12-31') AS end_date,
        _scd_to IS NULL AS is_current,
        _scd_state IS NOT NULL AS _scd_opens
    FROM versions
    FULL OUTER JOIN stored USING (symbol, _scd_at)
    WHERE _scd_stored IS DISTINCT FROM CASE WHEN _scd_state IS NOT NULL THEN STRUCT(_scd_state, _scd_rest, _scd_to) END
) AS s
    -- A key and a start identify a version.
    ON t.symbol = s.symbol AND t.effective_date = s.effective_date
-- No version starts here any more.
WHEN MATCHED AND NOT s._scd_opens THEN DELETE
WHEN MATCHED THEN UPDATE SET
    issue = s.issue, status = s.status, name = s.name, exchange_id = s.exchange_id, sk_company_id = s.sk_company_id,
    shares_outstanding = s.shares_outstanding, first_trade = s.first_trade,
    first_trade_on_exchange = s.first_trade_on_exchange, dividend = s.dividend, batch_id = s.batch_id,
    end_date = s.end_date, is_current = s.is_current
WHEN NOT MATCHED THEN INSERT (
    symbol, issue, status, name, exchange_id, sk_company_id, shares_outstanding, first_trade, first_trade_on_exchange,
    dividend, batch_id, sk_security_id, effective_date, end_date, is_current
) VALUES (
    s.symbol, s.issue, s.status, s.name, s.exchange_id, s.sk_company_id, s.shares_outstanding, s.first_trade,
    s.first_trade_on_exchange, s.dividend, s.batch_id, s.sk_security_id, s.effective_date, s.end_date, s.is_current
);
