-- crm.customer_full: Customers, from a full extract; a customer that is gone from it is closed
-- Compares a full extract with the current versions: a new, returning or changed key opens a version.
-- Extracts: must be loaded in the order of their times.
-- Rows that change nothing: open no version.
-- Missing keys: are deleted, so that their version ends.
-- Stops if: a key is NULL, rows of one key differ, the extract is empty, a time is not before TIMESTAMP '9999-12-31
-- 23:59:59.999 UTC', the end of open versions, a version starts or ends after the extract, or this has no time, a
-- version would end at its start or before, or the session's settings change the result.
-- Generated from specs/customer_full.yml. To change it, edit the spec and run `scdgen generate`.
-- Set before this runs: DECLARE OR REPLACE VARIABLE taken TIMESTAMP DEFAULT ...;

-- Every row of the extract takes effect at this time.
DECLARE OR REPLACE VARIABLE _scd_taken_at TIMESTAMP;
SET VARIABLE _scd_taken_at = CASE
    WHEN session.taken < TIMESTAMP '9999-12-31 23:59:59.999 UTC' THEN session.taken
    ELSE RAISE_ERROR('[SCDGEN_NULL_TIME] crm.customer_full: snapshot.taken_at is NULL or not before the open end')
END;

MERGE INTO crm.customer_full AS t USING (
    WITH source_rows AS (
        -- The source's rows, with the target's column names and types.
        SELECT CAST(customer_no AS STRING) AS customer_no, STRUCT(CAST(name AS STRING) AS name) AS _scd_state
        FROM crm.customer_extract
    ),
    snapshot AS (
        -- One row per key. A row that breaks a rule stops the statement.
        SELECT customer_no, MIN(_scd_state) AS _scd_state
        FROM source_rows
        GROUP BY customer_no
        HAVING CASE
            WHEN TYPEOF(COALESCE(1, '')) = 'string' OR TYPEOF(CAST(NULL AS TIMESTAMP)) <> 'timestamp'
                THEN RAISE_ERROR('[SCDGEN_SETTINGS] crm.customer_full: needs ANSI mode and TIMESTAMP_LTZ')
            WHEN CURRENT_TIMEZONE() NOT IN ('UTC', 'Etc/UTC', 'GMT')
                THEN RAISE_ERROR('[SCDGEN_TIME_ZONE] crm.customer_full: run SET TIME ZONE \'UTC\' first')
            WHEN customer_no IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] crm.customer_full: customer_no is NULL')
            WHEN MIN(_scd_state) IS DISTINCT FROM MAX(_scd_state)
                THEN RAISE_ERROR('[SCDGEN_CONFLICT] crm.customer_full: two rows differ: '
                    || TO_JSON(STRUCT(customer_no)))
            ELSE TRUE
        END
        UNION ALL
        SELECT RAISE_ERROR('[SCDGEN_EMPTY_SNAPSHOT] crm.customer_full: the snapshot is empty'), NULL
        WHERE NOT EXISTS (SELECT 1 FROM source_rows)
    ),
    stored AS (
        -- The newest version of each key that an extract can affect. One that changed after the extract stops the run.
        SELECT
            t.customer_no,
            MAX_BY(
                STRUCT(
                    t.effective_ts AS _scd_from,
                    NULLIF(t.expiry_ts, TIMESTAMP '9999-12-31 23:59:59.999 UTC') + INTERVAL '1' MILLISECOND AS _scd_to,
                    STRUCT(t.name) AS _scd_state
                ),
                t.effective_ts
            ) AS _scd_stored
        FROM crm.customer_full AS t
        WHERE t.expiry_ts >= _scd_taken_at - INTERVAL '1' MILLISECOND
        GROUP BY t.customer_no
        HAVING CASE
            WHEN MAX(
                GREATEST(
                    t.effective_ts,
                    NULLIF(t.expiry_ts, TIMESTAMP '9999-12-31 23:59:59.999 UTC') + INTERVAL '1' MILLISECOND
                )
            ) > _scd_taken_at
                THEN RAISE_ERROR('[SCDGEN_TAKEN_AT] crm.customer_full: the snapshot is older than what is stored: '
                    || TO_JSON(
                        STRUCT(
                            _scd_taken_at AS taken_at,
                            MAX(
                                GREATEST(
                                    t.effective_ts,
                                    NULLIF(
                                        t.expiry_ts, TIMESTAMP '9999-12-31 23:59:59.999 UTC'
                                    ) + INTERVAL '1' MILLISECOND
                                )
                            ) AS stored
                        )
                    ))
            ELSE TRUE
        END
    ),
    joined AS (
        -- Each key with its row and its newest version.
        SELECT *, _scd_state IS NULL AS _scd_gone
        FROM snapshot
        FULL OUTER JOIN stored USING (customer_no)
    ),
    decided AS (
        -- What happens to the versions of each key.
        SELECT
            *,
            CASE
                -- Missing: its version ends.
                WHEN _scd_gone THEN IF(_scd_stored._scd_to IS NULL, ARRAY('close'), ARRAY())
                -- No version, or its last one ended before this extract.
                WHEN _scd_stored IS NULL THEN ARRAY('open')
                -- Unchanged: nothing happens, or the version that ended at this very time is open again.
                WHEN _scd_state IS NOT DISTINCT FROM _scd_stored._scd_state
                    THEN IF(_scd_stored._scd_to IS NULL, ARRAY(), ARRAY('correct'))
                -- Its last version ended at this time, and differs.
                WHEN _scd_stored._scd_to IS NOT NULL THEN ARRAY('open')
                -- Changed: the open version ends, and a new one begins.
                ELSE ARRAY('close', 'open')
            END AS _scd_actions
        FROM joined
    ),
    versions AS (
        -- A row per version. Closing one that is too new stops the run.
        SELECT
            *,
            CASE WHEN _scd_action = 'open' THEN _scd_taken_at ELSE _scd_stored._scd_from END AS _scd_from,
            CASE WHEN _scd_action = 'close' THEN _scd_taken_at END AS _scd_to
        FROM decided
            LATERAL VIEW EXPLODE(_scd_actions) p AS _scd_action
        WHERE CASE
            WHEN _scd_action = 'close' AND _scd_taken_at <= _scd_stored._scd_from
                THEN RAISE_ERROR('[SCDGEN_TAKEN_AT] crm.customer_full: the snapshot must be newer than what it closes: '
                    || TO_JSON(STRUCT(customer_no, _scd_stored._scd_from)))
            ELSE TRUE
        END
    )
    SELECT
        customer_no, _scd_state.*, _scd_from AS effective_ts,
        COALESCE(_scd_to - INTERVAL '1' MILLISECOND, TIMESTAMP '9999-12-31 23:59:59.999 UTC') AS expiry_ts,
        CASE WHEN _scd_to IS NULL THEN 1 ELSE 0 END AS is_current
    FROM versions
) AS s
    -- A key and a start identify a version; the rest lets Delta skip files.
    ON t.customer_no = s.customer_no
        AND t.effective_ts = s.effective_ts
        AND t.expiry_ts >= _scd_taken_at - INTERVAL '1' MILLISECOND
-- A version that ends, or that is open again because its key is back at once: only its end is written.
WHEN MATCHED THEN UPDATE SET expiry_ts = s.expiry_ts, is_current = s.is_current
WHEN NOT MATCHED THEN INSERT (customer_no, name, effective_ts, expiry_ts, is_current)
    VALUES (s.customer_no, s.name, s.effective_ts, s.expiry_ts, s.is_current);
