-- crm.customer_full: Customers, from a full extract; a customer that is gone from it is closed
-- Compares a full extract with the current versions: a new or returning key opens a version, a changed key closes its
-- version and opens another, a missing key closes its version. Load extracts in the order of their times. Stops and
-- writes nothing if a key is NULL, rows of one key differ, the extract is empty, or a version to close is not older
-- than the extract. The same extract again changes nothing.
-- Generated from specs/customer_full.yml. To change it, edit the spec and run `scdgen generate`.
-- Set before this runs: DECLARE OR REPLACE VARIABLE taken TIMESTAMP DEFAULT ...;

-- Every row of the extract takes effect at this time.
DECLARE OR REPLACE VARIABLE _scd_taken_at TIMESTAMP;

SET VARIABLE _scd_taken_at = CASE
    WHEN CAST(session.taken AS TIMESTAMP) < TIMESTAMP '9999-12-31 23:59:59.999 UTC'
        THEN CAST(session.taken AS TIMESTAMP)
    ELSE RAISE_ERROR('[SCDGEN_NULL_TIME] crm.customer_full: snapshot.taken_at is NULL or not before the open end')
END;

MERGE INTO crm.customer_full AS t USING (
    WITH source_rows AS (
        -- The source's rows, with the target's column names and types.
        SELECT
            CAST(customer_no AS STRING) AS customer_no,
            CAST(name AS STRING) AS name
        FROM crm.customer_extract
    ),
    extract AS (
        -- A row that breaks a rule stops the statement, as does a session that would read values differently.
        -- EXPLODE keeps Spark from testing rows that the source's own filters drop.
        SELECT *
        FROM source_rows
            LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
        WHERE CASE
            WHEN NOT _scd_kept THEN FALSE
            WHEN TYPEOF(COALESCE(1, '')) = 'string' OR TYPEOF(CAST(NULL AS TIMESTAMP)) <> 'timestamp'
                THEN RAISE_ERROR('[SCDGEN_SETTINGS] crm.customer_full: needs ANSI mode and TIMESTAMP_LTZ')
            WHEN CURRENT_TIMEZONE() NOT IN ('UTC', 'Etc/UTC', 'GMT')
                THEN RAISE_ERROR('[SCDGEN_TIME_ZONE] crm.customer_full: run SET TIME ZONE \'UTC\' first')
            WHEN customer_no IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] crm.customer_full: customer_no is NULL')
            ELSE TRUE
        END
        UNION ALL
        -- An empty extract would delete every key, so it stops the statement.
        SELECT RAISE_ERROR('[SCDGEN_EMPTY_SNAPSHOT] crm.customer_full: the snapshot is empty'), NULL, NULL
        WHERE NOT EXISTS (SELECT 1 FROM source_rows)
        DISTRIBUTE BY customer_no -- one shuffle for the window and the join
    ),
    ranked AS (
        -- Exact copies of a row count once.
        -- A window must have an order; any will do.
        SELECT *, LAG(STRUCT(name)) OVER by_key AS _scd_before
        FROM extract
        WINDOW by_key AS (PARTITION BY customer_no ORDER BY customer_no)
    ),
    snapshot AS (
        -- One row per key; two rows that contradict each other stop the statement.
        SELECT *
        FROM ranked
        WHERE CASE
            WHEN _scd_before IS NULL THEN TRUE
            WHEN _scd_before <=> STRUCT(name) THEN FALSE
            ELSE RAISE_ERROR(
                '[SCDGEN_CONFLICT] crm.customer_full: two different rows of one key: ' || TO_JSON(STRUCT(customer_no))
            )
        END
    ),
    stored AS (
        -- Open versions, and those that ended at the time of this extract or later, as when it is loaded again.
        SELECT
            t.customer_no,
            t.name,
            t.effective_ts AS _scd_from,
            NULLIF(t.expiry_ts, TIMESTAMP '9999-12-31 23:59:59.999 UTC') + INTERVAL '1' MILLISECOND AS _scd_until,
            ROW_NUMBER() OVER newest_first = 1 AS _scd_newest
        FROM crm.customer_full AS t
        WHERE t.expiry_ts >= _scd_taken_at - INTERVAL '1' MILLISECOND
        WINDOW newest_first AS (PARTITION BY t.customer_no ORDER BY t.effective_ts DESC)
    ),
    compared AS (
        -- What to do per key: nothing if it is the same.
        SELECT
            COALESCE(n.customer_no, o.customer_no) AS customer_no,
            n.name,
            _scd_taken_at AS _scd_at,
            o._scd_from,
            o._scd_until,
            CASE
                -- Missing: its version ends.
                WHEN n.customer_no IS NULL THEN IF(o._scd_until IS NULL, ARRAY('close'), ARRAY())
                -- No version, or its last one ended before this extract.
                WHEN o.customer_no IS NULL THEN ARRAY('open')
                WHEN STRUCT(n.name) <=> STRUCT(o.name) THEN IF(o._scd_until IS NULL, ARRAY(), ARRAY('correct'))
                -- Its last version ended at this time or later, and differs.
                WHEN o._scd_until IS NOT NULL THEN ARRAY('open')
                ELSE ARRAY('close', 'open')
            END AS _scd_actions
        FROM snapshot AS n
        FULL OUTER JOIN (SELECT * FROM stored WHERE _scd_newest) AS o ON n.customer_no = o.customer_no
    ),
    versions AS (
        -- A changed key closes a version and opens another.
        -- Closing a version that is too new stops the run.
        SELECT
            *,
            CASE WHEN _scd_action = 'open' THEN GREATEST(_scd_at, _scd_until) ELSE _scd_from END AS _scd_start,
            CASE WHEN _scd_action = 'close' THEN _scd_at END AS _scd_next
        FROM compared
            LATERAL VIEW EXPLODE(_scd_actions) p AS _scd_action
        WHERE CASE
            WHEN _scd_action = 'close' AND _scd_at <= _scd_from
                THEN RAISE_ERROR(
                    '[SCDGEN_TAKEN_AT] crm.customer_full: the snapshot is not newer than a version that it closes: '
                        || TO_JSON(STRUCT(customer_no, _scd_from))
                )
            ELSE TRUE
        END
    ),
    staged AS (
        -- Rows to write, with their history columns.
        SELECT
            _scd_action,
            customer_no,
            name,
            _scd_start AS effective_ts,
            COALESCE(_scd_next - INTERVAL '1' MILLISECOND, TIMESTAMP '9999-12-31 23:59:59.999 UTC') AS expiry_ts,
            CASE WHEN _scd_next IS NULL THEN 1 ELSE 0 END AS is_current
        FROM versions
    )
    SELECT * FROM staged
) AS s
    -- A key and a start identify a version; the rest lets Delta skip files.
    ON t.customer_no = s.customer_no
        AND t.effective_ts = s.effective_ts
        AND t.expiry_ts >= _scd_taken_at - INTERVAL '1' MILLISECOND
-- A version that ends, or that is open again because its key is back: only its end is written.
WHEN MATCHED THEN UPDATE SET expiry_ts = s.expiry_ts, is_current = s.is_current
-- A version that is not stored yet.
WHEN NOT MATCHED THEN
    INSERT (customer_no, name, effective_ts, expiry_ts, is_current)
    VALUES (s.customer_no, s.name, s.effective_ts, s.expiry_ts, s.is_current);
