-- retail.dim_customer: A row per version of a customer with segment and address, for reports on orders
-- Joins the histories of several tables: a version holds from one change of any of them to the next.
-- Tables: retail.customer, retail.customer_address.
-- Stored versions: are removed if the first table has their key, and no such start.
-- Rows that change nothing: equal neighbours are one version.
-- Deletes: a gap after a row is a delete.
-- Inferred members: are replaced by the versions of their key.
-- Stops if: a row has the key of the unknown member, a version has no key, no start or no time between its start and
-- its end, two versions of a table overlap and differ, or the session's settings change the result.
-- Generated from specs/sales/dim_customer.yml. To change it, edit the spec and run `scdgen generate`.

MERGE INTO retail.dim_customer AS t USING (
    WITH customer AS (
        -- The versions of retail.customer, which decide which keys exist, and when.
        SELECT
            *,
            CAST(customer_id AS INT) AS _scd_key_1,
            CAST(valid_from AS TIMESTAMP) AS _scd_from,
            CAST(valid_to AS TIMESTAMP) AS _scd_to
        FROM retail.customer
    ),
    address AS (
        -- The versions of retail.customer_address.
        SELECT
            *,
            CAST(customer_id AS INT) AS _scd_key_1,
            CAST(valid_from AS TIMESTAMP) AS _scd_from,
            CAST(valid_to AS TIMESTAMP) AS _scd_to
        FROM retail.customer_address
    ),
    periods AS (
        -- The key and the period of each of these versions.
        SELECT 'customer' AS _scd_table, _scd_key_1 AS customer_id, _scd_from, _scd_to FROM customer
        UNION ALL
        SELECT 'address' AS _scd_table, _scd_key_1 AS customer_id, _scd_from, _scd_to FROM address
    ),
    boundaries AS (
        -- Each start and each end of a version.
        -- A version that breaks a rule stops the statement, as does a session that would read values differently.
        SELECT customer_id, _scd_at
        FROM periods
            LATERAL VIEW EXPLODE(ARRAY(_scd_from, _scd_to)) b AS _scd_at
        WHERE CASE
            WHEN TYPEOF(COALESCE(1, '')) = 'string' OR TYPEOF(CAST(NULL AS TIMESTAMP)) <> 'timestamp'
                THEN RAISE_ERROR('[SCDGEN_SETTINGS] retail.dim_customer: needs ANSI mode and TIMESTAMP_LTZ')
            WHEN CURRENT_TIMEZONE() NOT IN ('UTC', 'Etc/UTC', 'GMT')
                THEN RAISE_ERROR('[SCDGEN_TIME_ZONE] retail.dim_customer: run SET TIME ZONE \'UTC\' first')
            WHEN customer_id IS NULL
                THEN RAISE_ERROR('[SCDGEN_NULL_KEY] retail.dim_customer: a joined version has no key: '
                    || TO_JSON(STRUCT(customer_id, _scd_table, _scd_from, _scd_to)))
            WHEN _scd_from IS NULL
                THEN RAISE_ERROR('[SCDGEN_NULL_TIME] retail.dim_customer: a joined version has no start: '
                    || TO_JSON(STRUCT(customer_id, _scd_table, _scd_from, _scd_to)))
            WHEN _scd_to <= _scd_from
                THEN RAISE_ERROR(
                    '[SCDGEN_END_BEFORE_START] retail.dim_customer: a joined version does not end after its start: '
                        || TO_JSON(STRUCT(customer_id, _scd_table, _scd_from, _scd_to))
                )
            ELSE _scd_at IS NOT NULL
        END
        DISTRIBUTE BY customer_id -- one shuffle serves the next steps
    ),
    spans AS (
        -- From each boundary of a key to the next: no version of any table starts or ends in between.
        SELECT customer_id, _scd_at, LEAD(_scd_at) OVER (PARTITION BY customer_id ORDER BY _scd_at) AS _scd_to
        FROM boundaries
        GROUP BY customer_id, _scd_at
    ),
    source_rows AS (
        -- Each span with the version of each table that is valid in it, with the target's column names and types.
        -- Rows that lack a needed table are dropped in the next step; an INNER JOIN may drop NULL keys unchecked.
        SELECT
            spans.customer_id,
            STRUCT(
                CAST(customer.name AS STRING) AS name,
                CAST(customer.segment AS STRING) AS segment,
                CAST(address.street AS STRING) AS street,
                CAST(address.city AS STRING) AS city
            ) AS _scd_state,
            spans._scd_at, spans._scd_to,
            customer._scd_from IS NOT NULL AS _scd_exists
        FROM spans
        LEFT JOIN customer
            ON spans.customer_id = customer._scd_key_1
                AND spans._scd_at >= customer._scd_from
                AND (customer._scd_to IS NULL OR spans._scd_at < customer._scd_to)
        LEFT JOIN address
            ON spans.customer_id = address._scd_key_1
                AND spans._scd_at >= address._scd_from
                AND (address._scd_to IS NULL OR spans._scd_at < address._scd_to)
    ),
    given AS (
        -- One row per key and start: copies of a row count once. A row that breaks a rule stops the statement.
        SELECT customer_id, _scd_at, MIN(_scd_to) AS _scd_to, MIN(_scd_state) AS _scd_state
        FROM source_rows
        GROUP BY customer_id, _scd_at, _scd_exists
        HAVING CASE
            WHEN NOT _scd_exists THEN FALSE
            WHEN customer_id = -1
                THEN RAISE_ERROR('[SCDGEN_RESERVED_KEY] retail.dim_customer: a row has the reserved key')
            WHEN MIN(_scd_state) IS DISTINCT FROM MAX(_scd_state)
                THEN RAISE_ERROR('[SCDGEN_CONFLICT] retail.dim_customer: two rows differ: '
                    || TO_JSON(STRUCT(customer_id, _scd_at)))
            ELSE TRUE
        END
    ),
    versions AS (
        -- The first row of each version (new state, or after a gap), with the end of the version's last row.
        SELECT
            customer_id, _scd_state, _scd_at,
            LEAD(_scd_before._scd_to, 1, _scd_last) OVER (PARTITION BY customer_id ORDER BY _scd_at) AS _scd_to
        FROM (
            SELECT
                *,
                LAG(STRUCT(_scd_state, _scd_to)) OVER by_key AS _scd_before,
                LAST_VALUE(_scd_to) OVER whole_key AS _scd_last
            FROM given
            WINDOW
                by_key AS (PARTITION BY customer_id ORDER BY _scd_at),
                whole_key AS (
                    PARTITION BY customer_id
                    ORDER BY _scd_at
                    ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
                )
        )
        WHERE _scd_state IS DISTINCT FROM _scd_before._scd_state OR _scd_at IS DISTINCT FROM _scd_before._scd_to
    ),
    stored AS (
        -- The stored versions of the keys to merge.
        SELECT
            t.customer_id, t.valid_from AS _scd_at,
            STRUCT(
                STRUCT(t.name, t.segment, t.street, t.city) AS _scd_state,
                COALESCE(t.is_inferred, FALSE) AS _scd_inferred,
                t.valid_to AS _scd_to
            ) AS _scd_stored
        FROM retail.dim_customer AS t
        LEFT SEMI JOIN customer AS g ON t.customer_id = g._scd_key_1
    )
    -- What differs from what is stored.
    SELECT
        customer_id, _scd_state.*,
        SHA2(TO_JSON(ARRAY(CAST(customer_id AS STRING), CAST(UNIX_MICROS(_scd_at) AS STRING))), 256) AS customer_sk,
        _scd_at AS valid_from, _scd_to AS valid_to,
        _scd_to IS NULL AS is_current,
        FALSE AS is_inferred,
        _scd_state IS NOT NULL AS _scd_opens
    FROM versions
    FULL OUTER JOIN stored USING (customer_id, _scd_at)
    WHERE _scd_stored
        IS DISTINCT FROM CASE WHEN _scd_state IS NOT NULL THEN STRUCT(_scd_state, FALSE AS _scd_inferred, _scd_to) END
) AS s
    -- A key and a start identify a version.
    ON t.customer_id = s.customer_id AND t.valid_from = s.valid_from
-- No version starts here any more.
WHEN MATCHED AND NOT s._scd_opens THEN DELETE
WHEN MATCHED THEN UPDATE SET
    name = s.name, segment = s.segment, street = s.street, city = s.city, valid_to = s.valid_to,
    is_current = s.is_current, is_inferred = s.is_inferred
WHEN NOT MATCHED THEN INSERT (
    customer_id, name, segment, street, city, customer_sk, valid_from, valid_to, is_current, is_inferred
) VALUES (
    s.customer_id, s.name, s.segment, s.street, s.city, s.customer_sk, s.valid_from, s.valid_to, s.is_current,
    s.is_inferred
);
