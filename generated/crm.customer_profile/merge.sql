-- crm.customer_profile: Customers with their address and their segment, from the histories of both
-- Joins the histories of several tables: a version holds from one change of any of them to the next.
-- Tables: crm.customer, crm.customer_segment.
-- Stored versions: are removed if the first table has their key, and no such start.
-- Rows that change nothing: equal neighbours are one version.
-- Deletes: a gap after a row is a delete.
-- Stops if: a version has no key, no start or no time between its start and its end, two versions of a table overlap
-- and differ, or the session's settings change the result.
-- Generated from specs/customer_profile.yml. To change it, edit the spec and run `scdgen generate`.

-- To run with another value, write it below. If the session declares `since` itself, leave out both statements.
DECLARE OR REPLACE VARIABLE since TIMESTAMP;
SET VARIABLE since = CAST(NULL AS TIMESTAMP);

MERGE INTO crm.customer_profile AS t USING (
    WITH customer AS (
        -- The versions of crm.customer, which decide which keys exist, and when.
        SELECT
            *,
            CAST(id AS INT) AS _scd_key_1,
            CAST(valid_from AS TIMESTAMP) AS _scd_from,
            CAST(valid_to AS TIMESTAMP) AS _scd_to
        FROM crm.customer
    ),
    segment AS (
        -- The versions of crm.customer_segment.
        SELECT
            *,
            CAST(id AS INT) AS _scd_key_1,
            CAST(valid_from AS TIMESTAMP) AS _scd_from,
            CAST(valid_to AS TIMESTAMP) AS _scd_to
        FROM crm.customer_segment
    ),
    periods AS (
        -- The key and the period of each of these versions.
        SELECT 'customer' AS _scd_table, _scd_key_1 AS id, _scd_from, _scd_to FROM customer
        UNION ALL
        SELECT 'segment' AS _scd_table, _scd_key_1 AS id, _scd_from, _scd_to FROM segment
    ),
    changed AS (
        -- Keys with a version that starts or ends at or after session.since.
        SELECT DISTINCT id
        FROM periods
        WHERE _scd_from >= session.since OR _scd_to >= session.since
    ),
    boundaries AS (
        -- Each start and each end of a version of these keys, or of all if session.since is NULL.
        -- A version that breaks a rule stops the statement, as does a session that would read values differently.
        SELECT id, _scd_at
        FROM (
            SELECT *
            FROM periods AS p
            WHERE session.since IS NULL OR EXISTS (SELECT * FROM changed AS c WHERE p.id IS NOT DISTINCT FROM c.id)
        )
            LATERAL VIEW EXPLODE(ARRAY(_scd_from, _scd_to)) b AS _scd_at
        WHERE CASE
            WHEN TYPEOF(COALESCE(1, '')) = 'string' OR TYPEOF(CAST(NULL AS TIMESTAMP)) <> 'timestamp'
                THEN RAISE_ERROR('[SCDGEN_SETTINGS] crm.customer_profile: needs ANSI mode and TIMESTAMP_LTZ')
            WHEN CURRENT_TIMEZONE() NOT IN ('UTC', 'Etc/UTC', 'GMT')
                THEN RAISE_ERROR('[SCDGEN_TIME_ZONE] crm.customer_profile: run SET TIME ZONE \'UTC\' first')
            WHEN id IS NULL
                THEN RAISE_ERROR('[SCDGEN_NULL_KEY] crm.customer_profile: a joined version has no key: '
                    || TO_JSON(STRUCT(id, _scd_table, _scd_from, _scd_to)))
            WHEN _scd_from IS NULL
                THEN RAISE_ERROR('[SCDGEN_NULL_TIME] crm.customer_profile: a joined version has no start: '
                    || TO_JSON(STRUCT(id, _scd_table, _scd_from, _scd_to)))
            WHEN _scd_to <= _scd_from
                THEN RAISE_ERROR(
                    '[SCDGEN_END_BEFORE_START] crm.customer_profile: a joined version does not end after its start: '
                        || TO_JSON(STRUCT(id, _scd_table, _scd_from, _scd_to))
                )
            ELSE _scd_at IS NOT NULL
        END
        DISTRIBUTE BY id -- one shuffle serves the next steps
    ),
    spans AS (
        -- From each boundary of a key to the next: no version of any table starts or ends in between.
        SELECT id, _scd_at, LEAD(_scd_at) OVER (PARTITION BY id ORDER BY _scd_at) AS _scd_to
        FROM boundaries
        GROUP BY id, _scd_at
    ),
    source_rows AS (
        -- Each span with the version of each table that is valid in it, with the target's column names and types.
        -- Rows that lack a needed table are dropped in the next step; an INNER JOIN may drop NULL keys unchecked.
        SELECT
            spans.id,
            STRUCT(
                CAST(customer.name AS STRING) AS name,
                CAST(customer.address AS STRING) AS address,
                CAST(segment.segment AS STRING) AS segment
            ) AS _scd_state,
            spans._scd_at, spans._scd_to,
            customer._scd_from IS NOT NULL AS _scd_exists
        FROM spans
        LEFT JOIN customer
            ON spans.id = customer._scd_key_1
                AND spans._scd_at >= customer._scd_from
                AND (customer._scd_to IS NULL OR spans._scd_at < customer._scd_to)
        LEFT JOIN segment
            ON spans.id = segment._scd_key_1
                AND spans._scd_at >= segment._scd_from
                AND (segment._scd_to IS NULL OR spans._scd_at < segment._scd_to)
    ),
    given AS (
        -- One row per key and start: copies of a row count once. A row that breaks a rule stops the statement.
        SELECT id, _scd_at, MIN(_scd_to) AS _scd_to, MIN(_scd_state) AS _scd_state
        FROM source_rows
        GROUP BY id, _scd_at, _scd_exists
        HAVING CASE
            WHEN NOT _scd_exists THEN FALSE
            WHEN MIN(_scd_state) IS DISTINCT FROM MAX(_scd_state)
                THEN RAISE_ERROR('[SCDGEN_CONFLICT] crm.customer_profile: two rows differ: '
                    || TO_JSON(STRUCT(id, _scd_at)))
            ELSE TRUE
        END
    ),
    versions AS (
        -- The first row of each version (new state, or after a gap), with the end of the version's last row.
        SELECT
            id, _scd_state, _scd_at,
            LEAD(_scd_before._scd_to, 1, _scd_last) OVER (PARTITION BY id ORDER BY _scd_at) AS _scd_to
        FROM (
            SELECT
                *,
                LAG(STRUCT(_scd_state, _scd_to)) OVER by_key AS _scd_before,
                LAST_VALUE(_scd_to) OVER whole_key AS _scd_last
            FROM given
            WINDOW
                by_key AS (PARTITION BY id ORDER BY _scd_at),
                whole_key AS (
                    PARTITION BY id
                    ORDER BY _scd_at
                    ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
                )
        )
        WHERE _scd_state IS DISTINCT FROM _scd_before._scd_state OR _scd_at IS DISTINCT FROM _scd_before._scd_to
    ),
    stored AS (
        -- The stored versions of the keys to merge.
        SELECT
            t.id, t.valid_from AS _scd_at,
            STRUCT(STRUCT(t.name, t.address, t.segment) AS _scd_state, t.valid_to AS _scd_to) AS _scd_stored
        FROM crm.customer_profile AS t
        LEFT SEMI JOIN customer AS g ON t.id = g._scd_key_1
        WHERE session.since IS NULL OR EXISTS (SELECT * FROM changed AS c WHERE t.id = c.id)
    )
    -- What differs from what is stored.
    SELECT
        id, _scd_state.*, _scd_at AS valid_from, _scd_to AS valid_to,
        _scd_to IS NULL AS is_current,
        _scd_state IS NOT NULL AS _scd_opens
    FROM versions
    FULL OUTER JOIN stored USING (id, _scd_at)
    WHERE _scd_stored IS DISTINCT FROM CASE WHEN _scd_state IS NOT NULL THEN STRUCT(_scd_state, _scd_to) END
) AS s
    -- A key and a start identify a version.
    ON t.id = s.id AND t.valid_from = s.valid_from
-- No version starts here any more.
WHEN MATCHED AND NOT s._scd_opens THEN DELETE
WHEN MATCHED THEN UPDATE SET
    name = s.name, address = s.address, segment = s.segment, valid_to = s.valid_to, is_current = s.is_current
WHEN NOT MATCHED THEN INSERT (id, name, address, segment, valid_from, valid_to, is_current)
    VALUES (s.id, s.name, s.address, s.segment, s.valid_from, s.valid_to, s.is_current);
