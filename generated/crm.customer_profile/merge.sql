-- crm.customer_profile: Customers with their address and their segment, from the histories of both
-- Joins the histories of crm.customer and crm.customer_segment: from each time at which one of them changes to the
-- next, the versions that are valid then. The result replaces the stored history of these keys. Equal neighbours become
-- one version. An end at which no other row starts is a delete; other keys stay as they are. Stops and writes nothing
-- if a version has no key, no start or no time between its start and its end, or two versions of a table are valid at a
-- time and differ. The same source again changes nothing.
-- Generated from specs/customer_profile.yml. To change it, edit the spec and run `scdgen generate`.

DECLARE OR REPLACE VARIABLE since TIMESTAMP;

SET VARIABLE since = CAST(NULL AS TIMESTAMP);

MERGE INTO crm.customer_profile AS t USING (
    WITH customer AS (
        -- The versions of crm.customer, which decide which keys exist, and when.
        SELECT
            *,
            CAST(id AS INT) AS _scd_key_1,
            CAST(valid_from AS TIMESTAMP) AS _scd_from,
            CAST(valid_to AS TIMESTAMP) AS _scd_until
        FROM crm.customer
    ),
    segment AS (
        -- The versions of crm.customer_segment.
        SELECT
            *,
            CAST(id AS INT) AS _scd_key_1,
            CAST(valid_from AS TIMESTAMP) AS _scd_from,
            CAST(valid_to AS TIMESTAMP) AS _scd_until
        FROM crm.customer_segment
    ),
    periods AS (
        -- The key and the period of each of these versions.
        SELECT 'customer' AS _scd_table, _scd_key_1, _scd_from, _scd_until
        FROM customer
        UNION ALL
        SELECT 'segment' AS _scd_table, _scd_key_1, _scd_from, _scd_until
        FROM segment
    ),
    changed AS (
        -- Keys with a version that starts or ends at or after source.changed_since.
        SELECT DISTINCT _scd_key_1
        FROM periods
        WHERE _scd_from >= CAST(session.since AS TIMESTAMP) OR _scd_until >= CAST(session.since AS TIMESTAMP)
    ),
    boundaries AS (
        -- Each start and each end is a boundary. A version that breaks a rule stops the statement, as does a
        -- session that would read values differently.
        SELECT id, _scd_at
        FROM (
            SELECT *
            FROM periods AS p
            WHERE CAST(session.since AS TIMESTAMP) IS NULL
                OR EXISTS (SELECT * FROM changed AS c WHERE p._scd_key_1 <=> c._scd_key_1)
        )
            LATERAL VIEW STACK(2, _scd_key_1, _scd_from, _scd_key_1, _scd_until) b AS id, _scd_at
        WHERE CASE
            WHEN TYPEOF(COALESCE(1, '')) = 'string' OR TYPEOF(CAST(NULL AS TIMESTAMP)) <> 'timestamp'
                THEN RAISE_ERROR('[SCDGEN_SETTINGS] crm.customer_profile: needs ANSI mode and TIMESTAMP_LTZ')
            WHEN CURRENT_TIMEZONE() NOT IN ('UTC', 'Etc/UTC', 'GMT')
                THEN RAISE_ERROR('[SCDGEN_TIME_ZONE] crm.customer_profile: run SET TIME ZONE \'UTC\' first')
            WHEN id IS NULL
                THEN RAISE_ERROR(
                    '[SCDGEN_NULL_KEY] crm.customer_profile: a joined version has no key: '
                        || TO_JSON(STRUCT(id, _scd_table, _scd_from, _scd_until))
                )
            WHEN _scd_from IS NULL
                THEN RAISE_ERROR(
                    '[SCDGEN_NULL_TIME] crm.customer_profile: a joined version has no start: '
                        || TO_JSON(STRUCT(id, _scd_table, _scd_from, _scd_until))
                )
            WHEN _scd_until <= _scd_from
                THEN RAISE_ERROR(
                    '[SCDGEN_END_BEFORE_START] crm.customer_profile: a joined version does not end after its start: '
                        || TO_JSON(STRUCT(id, _scd_table, _scd_from, _scd_until))
                )
            ELSE _scd_at IS NOT NULL
        END
        DISTRIBUTE BY id -- one shuffle serves the DISTINCT, the window and the joins
    ),
    spans AS (
        -- From each boundary of a key to the next: no version of any table starts or ends in between.
        SELECT id, _scd_at, LEAD(_scd_at) OVER (PARTITION BY id ORDER BY _scd_at) AS _scd_until
        FROM (SELECT DISTINCT id, _scd_at FROM boundaries)
    ),
    given AS (
        -- Each span with the version of each table that is valid in it, and with the target's column names and types.
        SELECT
            spans.id,
            CAST(customer.name AS STRING) AS name,
            CAST(customer.address AS STRING) AS address,
            CAST(segment.segment AS STRING) AS segment,
            spans._scd_at,
            spans._scd_until
        FROM spans
        INNER JOIN customer
            ON spans.id = customer._scd_key_1
                AND spans._scd_at >= customer._scd_from
                AND (customer._scd_until IS NULL OR spans._scd_at < customer._scd_until)
        LEFT JOIN segment
            ON spans.id = segment._scd_key_1
                AND spans._scd_at >= segment._scd_from
                AND (segment._scd_until IS NULL OR spans._scd_at < segment._scd_until)
    ),
    neighbours AS (
        -- Each row with the previous and the last row of its key.
        SELECT
            *,
            LAG(STRUCT(name, address, segment, _scd_until, _scd_at)) OVER by_key AS _scd_before,
            LAST_VALUE(STRUCT(_scd_until)) OVER whole_key AS _scd_last
        FROM given
        WINDOW
            by_key AS (PARTITION BY id ORDER BY _scd_at),
            whole_key AS (PARTITION BY id ORDER BY _scd_at ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
    ),
    timeline AS (
        -- The rows that begin a version: a copy does not, nor does an equal neighbour without a gap.
        -- Rows that contradict each other stop the statement.
        SELECT *
        FROM neighbours
        WHERE CASE
            WHEN _scd_before IS NULL THEN TRUE
            WHEN _scd_before <=> STRUCT(name, address, segment, _scd_until, _scd_at) THEN FALSE
            WHEN _scd_before._scd_at = _scd_at
                THEN RAISE_ERROR(
                    '[SCDGEN_CONFLICT] crm.customer_profile: two different rows of one key and time: '
                        || TO_JSON(STRUCT(id, _scd_at))
                )
            ELSE NOT (
                STRUCT(name, address, segment, _scd_at) <=> STRUCT(
                    _scd_before.name,
                    _scd_before.address,
                    _scd_before.segment,
                    _scd_before._scd_until AS _scd_at
                )
            )
        END
    ),
    folded AS (
        -- From the last row of a version, before the next begins: its end.
        SELECT
            id,
            name,
            address,
            segment,
            _scd_at,
            LEAD(_scd_before._scd_until, 1, _scd_last._scd_until) OVER by_key AS _scd_until
        FROM timeline
        WINDOW by_key AS (PARTITION BY id ORDER BY _scd_at)
    ),
    stored AS (
        -- The stored versions of the changed keys of the first table.
        -- Asking "given" would join all tables twice.
        SELECT
            t.id,
            t.valid_from AS _scd_at,
            STRUCT(t.name, t.address, t.segment, t.valid_to AS _scd_until) AS _scd_stored
        FROM crm.customer_profile AS t
        LEFT SEMI JOIN customer AS g ON t.id = g._scd_key_1
        WHERE CAST(session.since AS TIMESTAMP) IS NULL OR EXISTS (SELECT * FROM changed AS c WHERE t.id = c._scd_key_1)
    ),
    staged AS (
        -- Every version of these keys, given or stored; the action is NULL if the stored version is already right.
        SELECT
            CASE
                WHEN _scd_stored IS NULL THEN 'open'
                WHEN _scd_given._scd_at IS NULL THEN 'fold'
                WHEN NOT (_scd_stored <=> STRUCT(name, address, segment, _scd_until))
                    THEN IF(_scd_stored._scd_until IS NULL AND _scd_until IS NOT NULL, 'close', 'correct')
            END AS _scd_action,
            id,
            name,
            address,
            segment,
            _scd_at AS valid_from,
            _scd_until AS valid_to,
            _scd_until IS NULL AS is_current
        FROM folded AS _scd_given
        FULL OUTER JOIN stored USING (id, _scd_at)
    )
    SELECT * FROM staged WHERE _scd_action IS NOT NULL
) AS s
    -- A key and a start identify a version.
    ON t.id = s.id AND t.valid_from = s.valid_from
-- The source has no version with this start.
WHEN MATCHED AND s._scd_action = 'fold' THEN DELETE
-- A stored version whose end or values change; both are written.
WHEN MATCHED THEN
    UPDATE SET
        name = s.name,
        address = s.address,
        segment = s.segment,
        valid_to = s.valid_to,
        is_current = s.is_current
-- A version that is not stored yet.
WHEN NOT MATCHED THEN
    INSERT (id, name, address, segment, valid_from, valid_to, is_current)
    VALUES (s.id, s.name, s.address, s.segment, s.valid_from, s.valid_to, s.is_current);
