-- crm.customer_address: One row per address of a customer
-- Merges a batch of changes into the history: a late change splits, shortens or extends the versions around it, and
-- removes redundant ones. A change that repeats the values before it opens no version; one at the start of a stored
-- version replaces its values. No change deletes a key; other keys stay as they are. Stops and writes nothing if a key
-- or time is NULL, rows of one key and time differ, or an earlier row arrives during the run. Repeating the last batch
-- changes nothing, except that a late row sets its untracked columns again.
-- Generated from specs/customer_address.yml. To change it, edit the spec and run `scdgen generate`.

-- The batch affects no version that ended before this, so that Delta skips their files.
DECLARE OR REPLACE VARIABLE _scd_batch_from DATE;

SET VARIABLE _scd_batch_from = (SELECT MIN(CAST(start_date AS DATE)) FROM crm.customer_changes);

MERGE INTO crm.customer_address AS t USING (
    WITH source_rows AS (
        -- The source's rows, with the target's column names and types.
        SELECT
            CAST(id AS INT) AS id,
            CAST(name AS STRING) AS name,
            CAST(address AS STRING) AS address,
            CAST(start_date AS DATE) AS _scd_at
        FROM crm.customer_changes
    ),
    changes AS (
        -- A row that breaks a rule stops the statement, as does a session that would read values differently.
        -- EXPLODE keeps Spark from testing rows that the source's own filters drop.
        SELECT *
        FROM source_rows
            LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
        WHERE CASE
            WHEN NOT _scd_kept THEN FALSE
            WHEN TYPEOF(COALESCE(1, '')) = 'string'
                THEN RAISE_ERROR('[SCDGEN_SETTINGS] crm.customer_address: needs ANSI mode')
            WHEN CURRENT_TIMEZONE() NOT IN ('UTC', 'Etc/UTC', 'GMT')
                THEN RAISE_ERROR('[SCDGEN_TIME_ZONE] crm.customer_address: run SET TIME ZONE \'UTC\' first')
            WHEN id IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] crm.customer_address: id is NULL')
            WHEN YEAR(_scd_at) < 1 OR YEAR(_scd_at) > 9999
                THEN RAISE_ERROR('[SCDGEN_YEAR] crm.customer_address: a time is not in the years 1 to 9999')
            WHEN _scd_at IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_TIME] crm.customer_address: start_date is NULL')
            WHEN _scd_at >= _scd_batch_from THEN TRUE
            ELSE RAISE_ERROR('[SCDGEN_SOURCE_CHANGED] crm.customer_address: the source changed during the run')
        END
    ),
    timeline AS (
        -- A row per event: a change (rank 1), or the start (2) or end (3) of a version that a change can affect.
        SELECT id, name, address, _scd_at, FALSE AS _scd_deleted, NULL AS _scd_until, 1 AS _scd_rank
        FROM changes
        UNION ALL
        SELECT t.id, t.name, t.address, _scd_at, _scd_deleted, t.end_date, _scd_rank
        FROM crm.customer_address AS t
        LEFT SEMI JOIN changes AS c ON t.id = c.id AND (t.end_date IS NULL OR t.end_date >= c._scd_at)
            LATERAL VIEW STACK(2, t.start_date, FALSE, 2, t.end_date, TRUE, 3) p AS _scd_at, _scd_deleted, _scd_rank
        -- The bound of the whole batch is a constant, by which Delta skips files.
        WHERE (t.end_date IS NULL OR t.end_date >= _scd_batch_from) AND _scd_at IS NOT NULL
        DISTRIBUTE BY id -- of the whole UNION: one shuffle serves every window
    ),
    ranked AS (
        -- At one key and time, a change takes precedence over what is stored.
        SELECT
            *,
            ROW_NUMBER() OVER same_time AS _scd_row,
            STRUCT(name, address) <=> FIRST_VALUE(STRUCT(name, address)) OVER same_time AS _scd_agrees,
            FIRST_VALUE(CASE WHEN _scd_rank = 2 THEN STRUCT(name, address, _scd_until AS _scd_next) END)
                IGNORE NULLS OVER (PARTITION BY id, _scd_at) AS _scd_stored
        FROM timeline
        WINDOW same_time AS (PARTITION BY id, _scd_at ORDER BY _scd_rank)
    ),
    events AS (
        -- One event per key and time; two changes that contradict each other stop the statement.
        -- An event opens a version unless it is a delete or repeats the state before it.
        SELECT
            *,
            NOT _scd_deleted
                AND NOT (STRUCT(_scd_deleted, address) <=> LAG(STRUCT(_scd_deleted, address)) OVER by_key)
                AS _scd_opens
        FROM ranked
        WHERE CASE
            WHEN _scd_row = 1 THEN TRUE
            WHEN _scd_rank > 1 OR _scd_agrees THEN FALSE
            ELSE RAISE_ERROR(
                '[SCDGEN_CONFLICT] crm.customer_address: two different rows of one key and time: '
                    || TO_JSON(STRUCT(id, _scd_at))
            )
        END
        WINDOW by_key AS (PARTITION BY id ORDER BY _scd_at)
    ),
    runs AS (
        -- Numbers the versions, to find the newest value of an untracked column in each.
        SELECT *, COUNT_IF(_scd_opens OR _scd_deleted) OVER (PARTITION BY id ORDER BY _scd_at) AS _scd_run
        FROM events
    ),
    versions AS (
        -- A version lasts until the next version or delete of its key.
        SELECT
            id,
            LAST_VALUE(name) OVER in_version AS name,
            address,
            _scd_at,
            _scd_opens,
            _scd_stored,
            LEAD(CASE WHEN _scd_opens OR _scd_deleted THEN _scd_at END) IGNORE NULLS OVER by_key AS _scd_next
        FROM runs
        WINDOW
            by_key AS (PARTITION BY id ORDER BY _scd_at),
            in_version AS (
                PARTITION BY id, _scd_run
                ORDER BY _scd_at
                ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
            )
    ),
    staged AS (
        -- Rows to write; the action is NULL if the stored version is already right.
        SELECT
            CASE
                WHEN _scd_opens AND _scd_stored IS NULL THEN 'open'
                WHEN NOT _scd_opens AND _scd_stored IS NOT NULL THEN 'fold'
                WHEN _scd_opens AND NOT (_scd_stored <=> STRUCT(name, address, _scd_next))
                    THEN IF(_scd_stored._scd_next IS NULL AND _scd_next IS NOT NULL, 'close', 'correct')
            END AS _scd_action,
            id,
            name,
            address,
            _scd_at AS start_date,
            _scd_next AS end_date,
            _scd_next IS NULL AS is_current
        FROM versions
    )
    SELECT * FROM staged WHERE _scd_action IS NOT NULL
) AS s
    -- A key and a start identify a version; the rest lets Delta skip files.
    ON t.id = s.id AND t.start_date = s.start_date AND (t.end_date IS NULL OR t.end_date >= _scd_batch_from)
-- Redundant: the version before it now has the same values.
WHEN MATCHED AND s._scd_action = 'fold' THEN DELETE
-- A stored version whose end or values change; both are written.
WHEN MATCHED THEN UPDATE SET name = s.name, address = s.address, end_date = s.end_date, is_current = s.is_current
-- A version that is not stored yet.
WHEN NOT MATCHED THEN
    INSERT (id, name, address, start_date, end_date, is_current)
    VALUES (s.id, s.name, s.address, s.start_date, s.end_date, s.is_current);
