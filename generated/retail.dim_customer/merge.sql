-- retail.dim_customer: A row per version of a customer with segment and address, for reports on orders
-- Joins the histories of retail.customer and retail.customer_address: from each time at which one of them changes to
-- the next, the versions that are valid then. The result replaces the stored history of these keys. Equal neighbours
-- become one version. An end at which no other row starts is a delete; other keys stay as they are. Stops and writes
-- nothing if a version has no key, no start or no time between its start and its end, or two versions of a table are
-- valid at a time and differ. The same source again changes nothing.
-- Generated from specs/sales/dim_customer.yml. To change it, edit the spec and run `scdgen generate`.

MERGE INTO retail.dim_customer AS t USING (
    WITH customer AS (
        -- The versions of retail.customer, which decide which keys exist, and when.
        SELECT
            *,
            CAST(customer_id AS INT) AS _scd_key_1,
            CAST(valid_from AS TIMESTAMP) AS _scd_from,
            CAST(valid_to AS TIMESTAMP) AS _scd_until
        FROM retail.customer
    ),
    address AS (
        -- The versions of retail.customer_address.
        SELECT
            *,
            CAST(customer_id AS INT) AS _scd_key_1,
            CAST(valid_from AS TIMESTAMP) AS _scd_from,
            CAST(valid_to AS TIMESTAMP) AS _scd_until
        FROM retail.customer_address
    ),
    periods AS (
        -- The key and the period of each of these versions.
        SELECT 'customer' AS _scd_table, _scd_key_1, _scd_from, _scd_until
        FROM customer
        UNION ALL
        SELECT 'address' AS _scd_table, _scd_key_1, _scd_from, _scd_until
        FROM address
    ),
    boundaries AS (
        -- Each start and each end is a boundary. A version that breaks a rule stops the statement, as does a
        -- session that would read values differently.
        SELECT customer_id, _scd_at
        FROM periods
            LATERAL VIEW STACK(2, _scd_key_1, _scd_from, _scd_key_1, _scd_until) b AS customer_id, _scd_at
        WHERE CASE
            WHEN TYPEOF(COALESCE(1, '')) = 'string' OR TYPEOF(CAST(NULL AS TIMESTAMP)) <> 'timestamp'
                THEN RAISE_ERROR('[SCDGEN_SETTINGS] retail.dim_customer: needs ANSI mode and TIMESTAMP_LTZ')
            WHEN CURRENT_TIMEZONE() NOT IN ('UTC', 'Etc/UTC', 'GMT')
                THEN RAISE_ERROR('[SCDGEN_TIME_ZONE] retail.dim_customer: run SET TIME ZONE \'UTC\' first')
            WHEN customer_id IS NULL
                THEN RAISE_ERROR(
                    '[SCDGEN_NULL_KEY] retail.dim_customer: a joined version has no key: '
                        || TO_JSON(STRUCT(customer_id, _scd_table, _scd_from, _scd_until))
                )
            WHEN _scd_from IS NULL
                THEN RAISE_ERROR(
                    '[SCDGEN_NULL_TIME] retail.dim_customer: a joined version has no start: '
                        || TO_JSON(STRUCT(customer_id, _scd_table, _scd_from, _scd_until))
                )
            WHEN _scd_until <= _scd_from
                THEN RAISE_ERROR(
                    '[SCDGEN_END_BEFORE_START] retail.dim_customer: a joined version does not end after its start: '
                        || TO_JSON(STRUCT(customer_id, _scd_table, _scd_from, _scd_until))
                )
            ELSE _scd_at IS NOT NULL
        END
        DISTRIBUTE BY customer_id -- one shuffle serves the DISTINCT, the window and the joins
    ),
    spans AS (
        -- From each boundary of a key to the next: no version of any table starts or ends in between.
        SELECT customer_id, _scd_at, LEAD(_scd_at) OVER (PARTITION BY customer_id ORDER BY _scd_at) AS _scd_until
        FROM (SELECT DISTINCT customer_id, _scd_at FROM boundaries)
    ),
    source_rows AS (
        -- Each span with the version of each table that is valid in it, and with the target's column names and types.
        SELECT
            spans.customer_id,
            CAST(customer.name AS STRING) AS name,
            CAST(customer.segment AS STRING) AS segment,
            CAST(address.street AS STRING) AS street,
            CAST(address.city AS STRING) AS city,
            spans._scd_at,
            spans._scd_until
        FROM spans
        INNER JOIN customer
            ON spans.customer_id = customer._scd_key_1
                AND spans._scd_at >= customer._scd_from
                AND (customer._scd_until IS NULL OR spans._scd_at < customer._scd_until)
        LEFT JOIN address
            ON spans.customer_id = address._scd_key_1
                AND spans._scd_at >= address._scd_from
                AND (address._scd_until IS NULL OR spans._scd_at < address._scd_until)
    ),
    given AS (
        -- A row that breaks a rule stops the statement.
        -- EXPLODE keeps Spark from testing rows that the source's own filters drop.
        SELECT *
        FROM source_rows
            LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
        WHERE CASE
            WHEN NOT _scd_kept THEN FALSE
            WHEN customer_id = -1
                THEN RAISE_ERROR('[SCDGEN_RESERVED_KEY] retail.dim_customer: a row has the reserved key')
            ELSE TRUE
        END
    ),
    neighbours AS (
        -- Each row with the previous and the last row of its key.
        SELECT
            *,
            LAG(STRUCT(name, segment, street, city, _scd_until, _scd_at)) OVER by_key AS _scd_before,
            LAST_VALUE(STRUCT(_scd_until)) OVER whole_key AS _scd_last
        FROM given
        WINDOW
            by_key AS (PARTITION BY customer_id ORDER BY _scd_at),
            whole_key AS (
                PARTITION BY customer_id
                ORDER BY _scd_at
                ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
            )
    ),
    timeline AS (
        -- The rows that begin a version: a copy does not, nor does an equal neighbour without a gap.
        -- Rows that contradict each other stop the statement.
        SELECT *
        FROM neighbours
        WHERE CASE
            WHEN _scd_before IS NULL THEN TRUE
            WHEN _scd_before <=> STRUCT(name, segment, street, city, _scd_until, _scd_at) THEN FALSE
            WHEN _scd_before._scd_at = _scd_at
                THEN RAISE_ERROR(
                    '[SCDGEN_CONFLICT] retail.dim_customer: two different rows of one key and time: '
                        || TO_JSON(STRUCT(customer_id, _scd_at))
                )
            ELSE NOT (
                STRUCT(name, segment, street, city, _scd_at) <=> STRUCT(
                    _scd_before.name,
                    _scd_before.segment,
                    _scd_before.street,
                    _scd_before.city,
                    _scd_before._scd_until AS _scd_at
                )
            )
        END
    ),
    folded AS (
        -- From the last row of a version, before the next begins: its end.
        SELECT
            customer_id,
            name,
            segment,
            street,
            city,
            _scd_at,
            LEAD(_scd_before._scd_until, 1, _scd_last._scd_until) OVER by_key AS _scd_until
        FROM timeline
        WINDOW by_key AS (PARTITION BY customer_id ORDER BY _scd_at)
    ),
    stored AS (
        -- The stored versions of the keys of the first table.
        -- Asking "given" would join all tables twice.
        SELECT
            t.customer_id,
            t.valid_from AS _scd_at,
            STRUCT(
                t.name,
                t.segment,
                t.street,
                t.city,
                COALESCE(t.is_inferred, FALSE) AS _scd_inferred,
                t.valid_to AS _scd_until
            ) AS _scd_stored
        FROM retail.dim_customer AS t
        LEFT SEMI JOIN customer AS g ON t.customer_id = g._scd_key_1
    ),
    staged AS (
        -- Every version of these keys, given or stored; the action is NULL if the stored version is already right.
        SELECT
            CASE
                WHEN _scd_stored IS NULL THEN 'open'
                WHEN _scd_given._scd_at IS NULL THEN 'fold'
                WHEN NOT (_scd_stored <=> STRUCT(name, segment, street, city, FALSE AS _scd_inferred, _scd_until))
                    THEN IF(_scd_stored._scd_until IS NULL AND _scd_until IS NOT NULL, 'close', 'correct')
            END AS _scd_action,
            customer_id,
            name,
            segment,
            street,
            city,
            SHA2(TO_JSON(ARRAY(CAST(customer_id AS STRING), CAST(UNIX_MICROS(_scd_at) AS STRING))), 256) AS customer_sk,
            _scd_at AS valid_from,
            _scd_until AS valid_to,
            _scd_until IS NULL AS is_current,
            FALSE AS is_inferred
        FROM folded AS _scd_given
        FULL OUTER JOIN stored USING (customer_id, _scd_at)
    )
    SELECT * FROM staged WHERE _scd_action IS NOT NULL
) AS s
    -- A key and a start identify a version.
    ON t.customer_id = s.customer_id AND t.valid_from = s.valid_from
-- The source has no version with this start.
WHEN MATCHED AND s._scd_action = 'fold' THEN DELETE
-- A stored version whose end or values change; both are written.
WHEN MATCHED THEN
    UPDATE SET
        name = s.name,
        segment = s.segment,
        street = s.street,
        city = s.city,
        valid_to = s.valid_to,
        is_current = s.is_current,
        is_inferred = s.is_inferred
-- A version that is not stored yet.
WHEN NOT MATCHED THEN
    INSERT (customer_id, name, segment, street, city, customer_sk, valid_from, valid_to, is_current, is_inferred)
    VALUES (
        s.customer_id,
        s.name,
        s.segment,
        s.street,
        s.city,
        s.customer_sk,
        s.valid_from,
        s.valid_to,
        s.is_current,
        s.is_inferred
    );
