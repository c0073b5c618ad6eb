-- tpcdi.dim_account: Accounts, with a version for each version of their customer and broker
-- Joins the histories of several tables: a version holds from one change of any of them to the next.
-- Tables: tpcdi.account, tpcdi.dim_customer, tpcdi.dim_broker.
-- Stored versions: are removed if the first table has their key, and no such start.
-- Rows that change nothing: are versions of their own.
-- Deletes: a gap after a row is a delete.
-- Stops if: a time is not before DATE '9999-12-31', the end of open versions, a version has no key, no start or no time
-- between its start and its end, two versions of a table overlap and are no copies, or the session's settings change
-- the result.
-- Generated from specs/tpcdi/dim_account.yml. To change it, edit the spec and run `scdgen generate`.

-- To run with another value, write it below. If the session declares `since` itself, leave out both statements.
DECLARE OR REPLACE VARIABLE since DATE;
SET VARIABLE since = CAST(NULL AS DATE);

MERGE INTO tpcdi.dim_account AS t USING (
    WITH account AS (
        -- The versions of tpcdi.account, which decide which keys exist, and when.
        SELECT
            *,
            -- A version that breaks a rule stops the statement here, where every join reads its key.
            CASE
                WHEN TYPEOF(COALESCE(1, '')) = 'string'
                    THEN RAISE_ERROR('[SCDGEN_SETTINGS] tpcdi.dim_account: needs ANSI mode')
                WHEN CURRENT_TIMEZONE() NOT IN ('UTC', 'Etc/UTC', 'GMT')
                    THEN RAISE_ERROR('[SCDGEN_TIME_ZONE] tpcdi.dim_account: run SET TIME ZONE \'UTC\' first')
                WHEN CAST(account_id AS BIGINT) IS NULL
                    THEN RAISE_ERROR('[SCDGEN_NULL_KEY] tpcdi.dim_account: a joined version has no key: '
                        || TO_JSON(STRUCT('account' AS _scd_table, account_id, effective_date, end_date)))
                WHEN CAST(effective_date AS DATE) IS NULL
                    THEN RAISE_ERROR('[SCDGEN_NULL_TIME] tpcdi.dim_account: a joined version has no start: '
                        || TO_JSON(STRUCT('account' AS _scd_table, account_id, effective_date, end_date)))
                WHEN NULLIF(LEAST(CAST(end_date AS DATE), DATE '9999-12-31'), DATE '9999-12-31')
                    <= CAST(effective_date AS DATE)
                    THEN RAISE_ERROR(
                        '[SCDGEN_END_BEFORE_START] tpcdi.dim_account: a joined version does not end after its start: '
                            || TO_JSON(STRUCT('account' AS _scd_table, account_id, effective_date, end_date))
                    )
                ELSE CAST(account_id AS BIGINT)
            END AS _scd_key_1,
            CAST(effective_date AS DATE) AS _scd_from,
            NULLIF(LEAST(CAST(end_date AS DATE), DATE '9999-12-31'), DATE '9999-12-31') AS _scd_to
        FROM tpcdi.account
    ),
    customer AS (
        -- The versions of tpcdi.dim_customer, to which account points.
        SELECT
            *,
            -- A version that breaks a rule stops the statement here, where every join reads its key.
            CASE
                WHEN customer_id IS NULL
                    THEN RAISE_ERROR('[SCDGEN_NULL_KEY] tpcdi.dim_account: a joined version has no key: '
                        || TO_JSON(STRUCT('customer' AS _scd_table, customer_id, effective_date, end_date)))
                WHEN CAST(effective_date AS DATE) IS NULL
                    THEN RAISE_ERROR('[SCDGEN_NULL_TIME] tpcdi.dim_account: a joined version has no start: '
                        || TO_JSON(STRUCT('customer' AS _scd_table, customer_id, effective_date, end_date)))
                WHEN NULLIF(LEAST(CAST(end_date AS DATE), DATE '9999-12-31'), DATE '9999-12-31')
                    <= CAST(effective_date AS DATE)
                    THEN RAISE_ERROR(
                        '[SCDGEN_END_BEFORE_START] tpcdi.dim_account: a joined version does not end after its start: '
                            || TO_JSON(STRUCT('customer' AS _scd_table, customer_id, effective_date, end_date))
                    )
                ELSE customer_id
            END AS _scd_key_1,
            CAST(effective_date AS DATE) AS _scd_from,
            NULLIF(LEAST(CAST(end_date AS DATE), DATE '9999-12-31'), DATE '9999-12-31') AS _scd_to
        FROM tpcdi.dim_customer
    ),
    broker AS (
        -- The versions of tpcdi.dim_broker, to which account points.
        SELECT
            *,
            -- A version that breaks a rule stops the statement here, where every join reads its key.
            CASE
                WHEN broker_id IS NULL
                    THEN RAISE_ERROR('[SCDGEN_NULL_KEY] tpcdi.dim_account: a joined version has no key: '
                        || TO_JSON(STRUCT('broker' AS _scd_table, broker_id, effective_date, end_date)))
                WHEN CAST(effective_date AS DATE) IS NULL
                    THEN RAISE_ERROR('[SCDGEN_NULL_TIME] tpcdi.dim_account: a joined version has no start: '
                        || TO_JSON(STRUCT('broker' AS _scd_table, broker_id, effective_date, end_date)))
                WHEN NULLIF(LEAST(CAST(end_date AS DATE), DATE '9999-12-31'), DATE '9999-12-31')
                    <= CAST(effective_date AS DATE)
                    THEN RAISE_ERROR(
                        '[SCDGEN_END_BEFORE_START] tpcdi.dim_account: a joined version does not end after its start: '
                            || TO_JSON(STRUCT('broker' AS _scd_table, broker_id, effective_date, end_date))
                    )
                ELSE broker_id
            END AS _scd_key_1,
            CAST(effective_date AS DATE) AS _scd_from,
            NULLIF(LEAST(CAST(end_date AS DATE), DATE '9999-12-31'), DATE '9999-12-31') AS _scd_to
        FROM tpcdi.dim_broker
    ),
    changed AS (
        -- Keys with a version that starts or ends at or after session.since.
        -- Also those that point, in any of their versions, to a parent with one.
        SELECT DISTINCT _scd_key_1
        FROM (
            SELECT _scd_key_1, _scd_from, _scd_to FROM account
            UNION ALL
            SELECT account._scd_key_1, customer._scd_from, customer._scd_to
            FROM customer
            INNER JOIN account ON account.customer_id = customer._scd_key_1
            UNION ALL
            SELECT account._scd_key_1, broker._scd_from, broker._scd_to
            FROM broker
            INNER JOIN account ON account.broker_id = broker._scd_key_1
        )
        WHERE _scd_from >= session.since OR _scd_to >= session.since
    ),
    chosen AS (
        -- The versions of account of these keys, or of all if session.since is NULL.
        SELECT *
        FROM account AS p
        WHERE session.since IS NULL OR EXISTS (SELECT * FROM changed AS c WHERE p._scd_key_1 = c._scd_key_1)
    ),
    customer_times AS (
        -- The versions of customer, and a row of NULLs for each period without one: before, between and after them.
        SELECT
            _scd_key_1,
            IF(_scd_part = 'version', sk_customer_id, NULL) AS sk_customer_id,
            IF(_scd_part = 'version', batch_id, NULL) AS batch_id,
            CASE _scd_part WHEN 'version' THEN _scd_from WHEN 'after' THEN _scd_to END AS _scd_from,
            CASE _scd_part WHEN 'version' THEN _scd_to WHEN 'after' THEN _scd_next ELSE _scd_from END AS _scd_to
        FROM (
            SELECT *, LAG(_scd_from) OVER by_key AS _scd_before, LEAD(_scd_from) OVER by_key AS _scd_next
            FROM customer
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
    broker_times AS (
        -- The versions of broker, and a row of NULLs for each period without one: before, between and after them.
        SELECT
            _scd_key_1,
            IF(_scd_part = 'version', sk_broker_id, NULL) AS sk_broker_id,
            CASE _scd_part WHEN 'version' THEN _scd_from WHEN 'after' THEN _scd_to END AS _scd_from,
            CASE _scd_part WHEN 'version' THEN _scd_to WHEN 'after' THEN _scd_next ELSE _scd_from END AS _scd_to
        FROM (
            SELECT *, LAG(_scd_from) OVER by_key AS _scd_before, LEAD(_scd_from) OVER by_key AS _scd_next
            FROM broker
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
            account._scd_key_1 AS account_id,
            STRUCT(
                CAST(broker.sk_broker_id AS BIGINT) AS sk_broker_id,
                CAST(customer.sk_customer_id AS BIGINT) AS sk_customer_id,
                CAST(account.status AS STRING) AS status,
                CAST(account.account_desc AS STRING) AS account_desc,
                CAST(account.tax_status AS INT) AS tax_status
            ) AS _scd_state,
            STRUCT(CAST(greatest(account.batch_id, customer.batch_id) AS INT) AS batch_id) AS _scd_rest,
            GREATEST(account._scd_from, customer._scd_from, broker._scd_from) AS _scd_at,
            LEAST(account._scd_to, customer._scd_to, broker._scd_to) AS _scd_to
        FROM chosen AS account
        LEFT JOIN customer_times AS customer
            ON account.customer_id = customer._scd_key_1
                AND COALESCE(
                    GREATEST(account._scd_from, customer._scd_from) < LEAST(account._scd_to, customer._scd_to), TRUE
                )
        LEFT JOIN broker_times AS broker
            ON account.broker_id = broker._scd_key_1
                AND COALESCE(
                    GREATEST(account._scd_from, customer._scd_from, broker._scd_from)
                        < LEAST(account._scd_to, customer._scd_to, broker._scd_to),
                    TRUE
                )
        DISTRIBUTE BY account_id -- one shuffle serves all steps until the versions
    ),
    given AS (
        -- One row per key and start: copies of a row count once. A row that breaks a rule stops the statement.
        SELECT
            account_id, _scd_at,
            MIN(_scd_to) AS _scd_to,
            MIN(_scd_state) AS _scd_state,
            MIN(_scd_rest) AS _scd_rest
        FROM source_rows
        GROUP BY account_id, _scd_at
        HAVING CASE
            WHEN _scd_at >= DATE '9999-12-31'
                THEN RAISE_ERROR('[SCDGEN_NULL_TIME] tpcdi.dim_account: a version does not start before the open end')
            WHEN MIN(_scd_state) IS DISTINCT FROM MAX(_scd_state)
                OR MIN(_scd_rest) IS DISTINCT FROM MAX(_scd_rest)
                OR MIN(STRUCT(_scd_to)) IS DISTINCT FROM MAX(STRUCT(_scd_to))
                THEN RAISE_ERROR('[SCDGEN_CONFLICT] tpcdi.dim_account: two rows differ: '
                    || TO_JSON(STRUCT(account_id, _scd_at)))
            ELSE TRUE
        END
    ),
    neighbours AS (
        -- Each row, with the end of the one before.
        SELECT *, LAG(STRUCT(_scd_to)) OVER by_key AS _scd_before
        FROM given
        WINDOW by_key AS (PARTITION BY account_id ORDER BY _scd_at)
    ),
    versions AS (
        -- Each row is a version. Two that overlap stop the statement.
        SELECT account_id, _scd_state, _scd_rest, _scd_at, _scd_to
        FROM neighbours
        WHERE CASE
            WHEN _scd_before IS NULL OR _scd_before._scd_to <= _scd_at THEN TRUE
            ELSE RAISE_ERROR('[SCDGEN_CONFLICT] tpcdi.dim_account: two versions of a table are valid at a time: '
                || TO_JSON(STRUCT(account_id, _scd_at)))
        END
    ),
    stored AS (
        -- The stored versions of the keys to merge.
        SELECT
            t.account_id, t.effective_date AS _scd_at,
            STRUCT(
                STRUCT(t.sk_broker_id, t.sk_customer_id, t.status, t.account_desc, t.tax_status) AS _scd_state,
                STRUCT(t.batch_id) AS _scd_rest,
                NULLIF(t.end_date, DATE '9999-12-31') AS _scd_to
            ) AS _scd_stored
        FROM tpcdi.dim_account AS t
        LEFT SEMI JOIN ( -- one join to both sets of keys is faster than a join to each
            SELECT _scd_key_1
            FROM account
            WHERE session.since IS NULL
            UNION ALL
            SELECT _scd_key_1 FROM changed
        ) AS g
            ON t.account_id = g._scd_key_1
    )
    -- What differs from what is stored.
    SELECT
        account_id, _scd_state.*, _scd_rest.*,
        XXHASH64(TO_JSON(ARRAY(CAST(account_id AS STRING), CAST(_scd_at AS STRING)))) AS sk_account_id,
        _scd_at AS effective_date,
        COALESCE(_scd_to, DATE '9999-12-31') AS end_date,
        _scd_to IS NULL AS is_current,
        _scd_state IS NOT NULL AS _scd_opens
    FROM versions
    FULL OUTER JOIN stored USING (account_id, _scd_at)
    WHERE _scd_stored IS DISTINCT FROM CASE WHEN _scd_state IS NOT NULL THEN STRUCT(_scd_state, _scd_rest, _scd_to) END
) AS s
    -- A key and a start identify a version.
    ON t.account_id = s.account_id AND t.effective_date = s.effective_date
-- No version starts here any more.
WHEN MATCHED AND NOT s._scd_opens THEN DELETE
WHEN MATCHED THEN UPDATE SET
    sk_broker_id = s.sk_broker_id, sk_customer_id = s.sk_customer_id, status = s.status, account_desc = s.account_desc,
    tax_status = s.tax_status, batch_id = s.batch_id, end_date = s.end_date, is_current = s.is_current
WHEN NOT MATCHED THEN INSERT (
    account_id, sk_broker_id, sk_customer_id, status, account_desc, tax_status, batch_id, sk_account_id, effective_date,
    end_date, is_current
) VALUES (
    s.account_id, s.sk_broker_id, s.sk_customer_id, s.status, s.account_desc, s.tax_status, s.batch_id, s.sk_account_id,
    s.effective_date, s.end_date, s.is_current
);
