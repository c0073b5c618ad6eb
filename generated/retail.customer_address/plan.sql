-- retail.customer_address: Where customers live, from the delivery system
-- Shows what merge.sql would do: how much, then some of its rows. Writes nothing.
-- Generated from specs/sales/customer_address.yml. To change it, edit the spec and run `scdgen generate`.

-- The time of the earliest change. No version that ended before it can be affected, so Delta can skip those files.
DECLARE OR REPLACE VARIABLE _scd_batch_from TIMESTAMP;

SET VARIABLE _scd_batch_from = (SELECT MIN(CAST(moved_at AS TIMESTAMP)) FROM retail_landing.address_changes);

-- A row per version that the MERGE would write or remove: _scd_old is what is stored, _scd_new what it becomes.
-- Plus one row for each key of the source that needs no change. The steps up to "staged" are those of merge.sql.
CREATE OR REPLACE TEMPORARY VIEW _scd_plan AS
WITH source_rows AS (
    -- The source's rows, with the target's column names and types.
    SELECT
        CAST(customer_id AS INT) AS customer_id,
        CAST(street AS STRING) AS street,
        CAST(city AS STRING) AS city,
        CAST(moved_at AS TIMESTAMP) AS _scd_at
    FROM retail_landing.address_changes
),
changes AS (
    -- A row that breaks a rule stops the statement, as does a session that would read values differently.
    -- EXPLODE keeps Spark from testing rows that the source's own filters drop.
    SELECT *
    FROM source_rows LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
    WHERE
        CASE
            WHEN NOT _scd_kept THEN FALSE
            WHEN TYPEOF(COALESCE(1, '')) = 'string' OR TYPEOF(CAST(NULL AS TIMESTAMP)) <> 'timestamp'
                THEN RAISE_ERROR('[SCDGEN_SETTINGS] retail.customer_address: needs ANSI mode and TIMESTAMP_LTZ')
            WHEN CURRENT_TIMEZONE() NOT IN ('UTC', 'Etc/UTC', 'GMT')
                THEN RAISE_ERROR('[SCDGEN_TIME_ZONE] retail.customer_address: run SET TIME ZONE \'UTC\' first')
            WHEN customer_id IS NULL
                THEN RAISE_ERROR('[SCDGEN_NULL_KEY] retail.customer_address: customer_id is NULL')
            WHEN YEAR(_scd_at) < 1 OR YEAR(_scd_at) > 9999
                THEN RAISE_ERROR('[SCDGEN_YEAR] retail.customer_address: a time is not in the years 1 to 9999')
            WHEN _scd_at IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_TIME] retail.customer_address: moved_at is NULL')
            WHEN _scd_at >= _scd_batch_from THEN TRUE
            ELSE RAISE_ERROR('[SCDGEN_SOURCE_CHANGED] retail.customer_address: the source changed during the run')
        END
),
timeline AS (
    -- A row per event: a change (rank 1), or the start (2) or end (3) of a version that a change can affect.
    SELECT customer_id, street, city, _scd_at, FALSE AS _scd_deleted, NULL AS _scd_until, 1 AS _scd_rank
    FROM changes
    UNION ALL
    SELECT t.customer_id, t.street, t.city, _scd_at, _scd_deleted, t.valid_to, _scd_rank
    FROM retail.customer_address AS t
    LEFT SEMI JOIN changes AS c ON t.customer_id = c.customer_id AND (t.valid_to IS NULL OR t.valid_to >= c._scd_at)
        LATERAL VIEW STACK(2, t.valid_from, FALSE, 2, t.valid_to, TRUE, 3) p AS _scd_at, _scd_deleted, _scd_rank
    -- The bound of the whole batch is a constant, by which Delta skips files.
    WHERE (t.valid_to IS NULL OR t.valid_to >= _scd_batch_from) AND _scd_at IS NOT NULL
    DISTRIBUTE BY customer_id -- of the whole UNION: one shuffle serves every window
),
ranked AS (
    -- At one key and time, a change takes precedence over what is stored.
    SELECT
        *,
        ROW_NUMBER() OVER same_time AS _scd_row,
        STRUCT(street, city) <=> FIRST_VALUE(STRUCT(street, city)) OVER same_time AS _scd_agrees,
        FIRST_VALUE(CASE WHEN _scd_rank = 2 THEN STRUCT(street, city, _scd_until AS _scd_next) END)
            IGNORE NULLS OVER (PARTITION BY customer_id, _scd_at) AS _scd_stored
    FROM timeline
    WINDOW same_time AS (PARTITION BY customer_id, _scd_at ORDER BY _scd_rank)
),
events AS (
    -- One event per key and time; two changes that contradict each other stop the statement.
    -- An event opens a version if it differs from the state before it.
    SELECT
        *,
        NOT _scd_deleted
            AND NOT (STRUCT(_scd_deleted, street, city)
                <=> LAG(STRUCT(_scd_deleted, street, city)) OVER by_key)
            AS _scd_opens
    FROM ranked
    WHERE
        CASE
            WHEN _scd_row = 1 THEN TRUE
            WHEN _scd_rank > 1 OR _scd_agrees THEN FALSE
            ELSE RAISE_ERROR(
                '[SCDGEN_CONFLICT] retail.customer_address: two different rows of one key and time: '
                || TO_JSON(STRUCT(customer_id, _scd_at))
            )
        END
    WINDOW by_key AS (PARTITION BY customer_id ORDER BY _scd_at)
),
staged AS (
    -- A version ends at the next start or delete, exclusive. plan.sql counts the actions; NULL writes nothing.
    SELECT
        LEAD(CASE WHEN _scd_opens OR _scd_deleted THEN _scd_at END)
            IGNORE NULLS OVER (PARTITION BY customer_id ORDER BY _scd_at) AS _scd_next,
        CASE
            WHEN _scd_opens AND _scd_stored IS NULL THEN 'open'
            WHEN NOT _scd_opens AND _scd_stored IS NOT NULL THEN 'fold'
            WHEN _scd_opens AND NOT (_scd_stored <=> STRUCT(street, city, _scd_next))
                THEN IF(_scd_stored._scd_next IS NULL AND _scd_next IS NOT NULL, 'close', 'correct')
        END AS _scd_action,
        customer_id, street, city, _scd_at AS valid_from, _scd_next AS valid_to, _scd_next IS NULL AS is_current
    FROM events
)
SELECT
    CASE _scd_action
        WHEN 'open' THEN 'opened'
        WHEN 'close' THEN 'closed'
        WHEN 'correct' THEN 'corrected'
        WHEN 'fold' THEN 'folded'
        ELSE 'unchanged'
    END AS _scd_action,
    customer_id,
    _scd_start,
    _scd_old,
    _scd_new,
    -- It begins before the newest stored start or delete of its key.
    COALESCE(_scd_start < _scd_newest, FALSE) AS _scd_late,
    -- Whether the current version of a key ends, and whether the key is deleted by that.
    _scd_current AND (_scd_action <=> 'close' OR NOT _scd_stays) AS _scd_closes,
    _scd_current AND NOT _scd_stays AS _scd_deletes,
    -- What happens to the key, in one of its rows only.
    CASE
        WHEN _scd_action IS NULL THEN 'unchanged'
        WHEN _scd_start > _scd_first_write THEN NULL
        WHEN _scd_lives THEN IF(_scd_stays, 'changed', 'deleted')
        WHEN NOT _scd_known THEN 'new'
        ELSE IF(_scd_stays, 'returned', 'changed')
    END AS _scd_key
FROM (
    SELECT
        s._scd_action,
        s.customer_id,
        s.valid_from AS _scd_start,
        IF(
            t.customer_id IS NOT NULL,
            STRUCT(t.customer_id, t.street, t.city, t.valid_from, t.valid_to, t.is_current),
            NULL
        ) AS _scd_old,
        IF(
            s._scd_action <> 'fold',
            STRUCT(s.customer_id, s.street, s.city, s.valid_from, s.valid_to, s.is_current),
            NULL
        ) AS _scd_new,
        MAX(GREATEST(t.valid_from, t.valid_to)) OVER by_key AS _scd_newest,
        COUNT(s._scd_action) OVER by_key = 0 AND ROW_NUMBER() OVER in_order = 1 AS _scd_idle,
        t.customer_id IS NOT NULL AND t.valid_to IS NULL AS _scd_current,
        BOOL_OR(t.customer_id IS NOT NULL AND t.valid_to IS NULL)
            OVER by_key AS _scd_lives,
        BOOL_OR(t.customer_id IS NOT NULL) OVER by_key AS _scd_known,
        MIN(CASE WHEN s._scd_action IS NOT NULL THEN s.valid_from END) OVER by_key AS _scd_first_write,
        COALESCE(BOOL_OR(CASE
            WHEN s._scd_action IS NULL THEN t.customer_id IS NOT NULL AND t.valid_to IS NULL
            WHEN s._scd_action <> 'fold' THEN s.valid_to IS NULL
        END) OVER by_key, FALSE) AS _scd_stays
    FROM staged AS s
    FULL OUTER JOIN (SELECT 1 WHERE FALSE) ON TRUE -- adds no row; without it, planning time doubles with each column
    LEFT JOIN retail.customer_address AS t
        ON t.customer_id = s.customer_id
            AND t.valid_from = s.valid_from
            AND (t.valid_to IS NULL OR t.valid_to >= _scd_batch_from)
    WINDOW
        by_key AS (PARTITION BY s.customer_id),
        in_order AS (PARTITION BY s.customer_id ORDER BY s.valid_from)
)
WHERE _scd_action IS NOT NULL OR _scd_idle;

-- Counts: what happens to the keys and to their versions, and the keys that are current now.
SELECT
    *,
    ROUND(100 * deleted / NULLIF(current_keys, 0), 1) AS deleted_percent
FROM (
    SELECT
        COUNT_IF(_scd_key = 'new') AS new,
        COUNT_IF(_scd_key = 'changed') AS changed,
        COUNT_IF(_scd_key = 'deleted') AS deleted,
        COUNT_IF(_scd_key = 'returned') AS returned,
        COUNT_IF(_scd_key = 'unchanged') AS unchanged,
        COUNT_IF(_scd_action = 'opened') AS opened,
        COUNT_IF(_scd_action = 'closed') AS closed,
        COUNT_IF(_scd_action = 'corrected') AS corrected,
        COUNT_IF(_scd_action = 'folded') AS folded,
        COUNT_IF(_scd_late AND _scd_action <> 'unchanged') AS late,
        COUNT_IF(_scd_closes) AS closed_keys,
        (
            SELECT COUNT(*)
            FROM retail.customer_address AS t
            WHERE t.valid_to IS NULL
        ) AS current_keys
    FROM _scd_plan
);

-- Some rows of each action; a value that would change is shown as `old -> new`.
SELECT
    _scd_action AS change,
    CONCAT_WS(', ', CASE WHEN _scd_late THEN 'late' END, CASE WHEN _scd_deletes THEN 'deletes' END) AS note,
    customer_id,
    ARRAY_JOIN(
        ARRAY_DISTINCT(ARRAY(_scd_old.street, _scd_new.street)),
        ' -> ', 'NULL'
    ) AS street,
    ARRAY_JOIN(
        ARRAY_DISTINCT(ARRAY(_scd_old.city, _scd_new.city)),
        ' -> ', 'NULL'
    ) AS city,
    _scd_new.valid_from,
    ARRAY_JOIN(
        ARRAY_DISTINCT(ARRAY(CAST(_scd_old.valid_to AS STRING), CAST(_scd_new.valid_to AS STRING))),
        ' -> ', 'NULL'
    ) AS valid_to,
    ARRAY_JOIN(
        ARRAY_DISTINCT(ARRAY(CAST(_scd_old.is_current AS STRING), CAST(_scd_new.is_current AS STRING))),
        ' -> ', 'NULL'
    ) AS is_current
FROM (
    SELECT
        _scd_action, _scd_deletes, _scd_late, _scd_start, customer_id,
        COALESCE(_scd_old, _scd_new) AS _scd_old,
        COALESCE(_scd_new, _scd_old) AS _scd_new,
        ROW_NUMBER() OVER (PARTITION BY _scd_action, _scd_deletes ORDER BY customer_id, _scd_start) AS _scd_row
    FROM _scd_plan
    WHERE _scd_action <> 'unchanged'
)
WHERE _scd_row <= 5
ORDER BY customer_id, _scd_start, _scd_action;
