-- dwh.dim_customer: Customer dimension; a change of address or date of birth opens a version, a change of name does not
-- Shows what merge.sql would do: how much, then some of its rows. Writes nothing.
-- Generated from specs/dim_design.yml. To change it, edit the spec and run `scdgen generate`.

-- The time of the earliest change. No version that ended before it can be affected, so Delta can skip those files.
DECLARE OR REPLACE VARIABLE _scd_batch_from DATE;

DECLARE OR REPLACE VARIABLE _scd_partitions_1 ARRAY<STRING>;

SET VARIABLE (_scd_batch_from, _scd_partitions_1) = (
    WITH source AS (
        SELECT c.region, c.customer_no, c.full_name, c.street, c.birth_date, c.changed_on, c.change_no
        FROM staging.customer AS c
        WHERE c.customer_no IS NOT NULL
    )
    SELECT
        MIN(CAST(changed_on AS DATE)) - INTERVAL '1' DAY,
        COLLECT_SET(CAST(region AS STRING))
    FROM source
);

-- A row per version that the MERGE would write or remove: _scd_old is what is stored, _scd_new what it becomes.
-- Plus one row for each key of the source that needs no change. The steps up to "staged" are those of merge.sql.
CREATE OR REPLACE TEMPORARY VIEW _scd_plan AS
WITH source AS (
    SELECT c.region, c.customer_no, c.full_name, c.street, c.birth_date, c.changed_on, c.change_no
    FROM staging.customer AS c
    WHERE c.customer_no IS NOT NULL
),
source_rows AS (
    -- The source's rows, with the target's column names and types.
    SELECT
        CAST(region AS STRING) AS region,
        CAST(customer_no AS STRING) AS customer_no,
        CAST(full_name AS STRING) AS name,
        CAST(street AS STRING) AS address,
        CAST(birth_date AS DATE) AS birth_date,
        CAST(changed_on AS DATE) AS _scd_at,
        change_no AS _scd_sequence_1
    FROM source
),
changes AS (
    -- A row that breaks a rule stops the statement, as does a session that would read values differently.
    -- EXPLODE keeps Spark from testing rows that the source's own filters drop.
    SELECT *
    FROM source_rows LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
    WHERE
        CASE
            WHEN NOT _scd_kept THEN FALSE
            WHEN TYPEOF(COALESCE(1, '')) = 'string'
                THEN RAISE_ERROR('[SCDGEN_SETTINGS] dwh.dim_customer: needs ANSI mode')
            WHEN CURRENT_TIMEZONE() NOT IN ('UTC', 'Etc/UTC', 'GMT')
                THEN RAISE_ERROR('[SCDGEN_TIME_ZONE] dwh.dim_customer: run SET TIME ZONE \'UTC\' first')
            WHEN region IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] dwh.dim_customer: region is NULL')
            WHEN customer_no IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] dwh.dim_customer: customer_no is NULL')
            WHEN YEAR(LEAST(_scd_at, birth_date)) < 1 OR YEAR(GREATEST(_scd_at, birth_date)) > 9999
                THEN RAISE_ERROR('[SCDGEN_YEAR] dwh.dim_customer: a time is not in the years 1 to 9999')
            WHEN _scd_at IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_TIME] dwh.dim_customer: changed_on is NULL')
            WHEN _scd_at >= DATE '9999-12-31'
                THEN RAISE_ERROR('[SCDGEN_NULL_TIME] dwh.dim_customer: changed_on is not before the open end')
            WHEN _scd_at - INTERVAL '1' DAY >= _scd_batch_from AND ARRAY_CONTAINS(_scd_partitions_1, region)
                THEN TRUE
            ELSE RAISE_ERROR('[SCDGEN_SOURCE_CHANGED] dwh.dim_customer: the source changed during the run')
        END
),
timeline AS (
    -- A row per event: a change (rank 1), or the start (2) or end (3) of a version that a change can affect.
    SELECT
        region, customer_no, name, address, birth_date, _scd_at,
        FALSE AS _scd_deleted,
        _scd_sequence_1,
        NULL AS _scd_until,
        1 AS _scd_rank
    FROM changes
    UNION ALL
    SELECT
        t.region, t.customer_no, t.name, t.address, t.birth_date, _scd_at, _scd_deleted, NULL,
        NULLIF(t.end_date, DATE '9999-12-31') + INTERVAL '1' DAY,
        _scd_rank
    FROM dwh.dim_customer AS t
    LEFT SEMI JOIN changes AS c ON t.region = c.region
        AND t.customer_no = c.customer_no
        AND t.end_date >= c._scd_at - INTERVAL '1' DAY
        LATERAL VIEW STACK(
            2, t.start_date, FALSE, 2,
            NULLIF(t.end_date, DATE '9999-12-31') + INTERVAL '1' DAY, TRUE, 3
        ) p AS _scd_at, _scd_deleted, _scd_rank
    -- The bound of the whole batch is a constant, by which Delta skips files.
    WHERE t.end_date >= _scd_batch_from AND ARRAY_CONTAINS(_scd_partitions_1, t.region) AND _scd_at IS NOT NULL
    DISTRIBUTE BY region, customer_no -- of the whole UNION: one shuffle serves every window
),
ranked AS (
    -- At one key and time, a change takes precedence over what is stored; the greatest change_no wins.
    SELECT
        *,
        ROW_NUMBER() OVER same_time AS _scd_row,
        RANK() OVER same_time > 1
            OR STRUCT(name, address, birth_date)
            <=> FIRST_VALUE(STRUCT(name, address, birth_date)) OVER same_time
            AS _scd_agrees,
        FIRST_VALUE(CASE WHEN _scd_rank = 2 THEN STRUCT(name, address, birth_date, _scd_until AS _scd_next) END)
            IGNORE NULLS OVER (PARTITION BY region, customer_no, _scd_at) AS _scd_stored
    FROM timeline
    WINDOW same_time AS (PARTITION BY region, customer_no, _scd_at ORDER BY _scd_rank ASC, _scd_sequence_1 DESC)
),
events AS (
    -- One event per key and time; two changes that contradict each other stop the statement.
    -- An event opens a version if it differs from the state before it.
    SELECT
        *,
        NOT _scd_deleted
            AND NOT (STRUCT(_scd_deleted, address, birth_date)
                <=> LAG(STRUCT(_scd_deleted, address, birth_date)) OVER by_key)
            AS _scd_opens
    FROM ranked
    WHERE
        CASE
            WHEN _scd_row = 1 THEN TRUE
            WHEN _scd_agrees THEN FALSE
            ELSE RAISE_ERROR(
                '[SCDGEN_CONFLICT] dwh.dim_customer: two different rows of one key and time: '
                || TO_JSON(STRUCT(region, customer_no, _scd_at))
            )
        END
    WINDOW by_key AS (PARTITION BY region, customer_no ORDER BY _scd_at)
),
runs AS (
    -- Numbers the versions, to find the newest value of an untracked column in each.
    SELECT
        *,
        COUNT_IF(_scd_opens OR _scd_deleted) OVER (PARTITION BY region, customer_no ORDER BY _scd_at) AS _scd_run
    FROM events
),
versions AS (
    -- A version lasts until the next version or delete of its key.
    SELECT
        region,
        customer_no,
        LAST_VALUE(name) OVER in_version AS name,
        address,
        birth_date,
        _scd_at,
        _scd_opens,
        _scd_stored,
        LEAD(CASE WHEN _scd_opens OR _scd_deleted THEN _scd_at END) IGNORE NULLS OVER by_key AS _scd_next
    FROM runs
    WINDOW
        by_key AS (PARTITION BY region, customer_no ORDER BY _scd_at),
        in_version AS (
            PARTITION BY region, customer_no, _scd_run ORDER BY _scd_at
            ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
        )
),
staged AS (
    -- Rows to write; the action is NULL if the stored version is already right.
    SELECT
        CASE
            WHEN _scd_opens AND _scd_stored IS NULL THEN 'open'
            WHEN NOT _scd_opens AND _scd_stored IS NOT NULL THEN 'fold'
            WHEN _scd_opens AND NOT (_scd_stored <=> STRUCT(name, address, birth_date, _scd_next))
                THEN IF(_scd_stored._scd_next IS NULL AND _scd_next IS NOT NULL, 'close', 'correct')
        END AS _scd_action,
        region, customer_no, name, address, birth_date,
        SHA2(TO_JSON(ARRAY(region, customer_no, CAST(_scd_at AS STRING))), 256) AS customer_sk,
        _scd_at AS start_date,
        COALESCE(_scd_next - INTERVAL '1' DAY, DATE '9999-12-31') AS end_date,
        CASE WHEN _scd_next IS NULL THEN 'Y' ELSE 'N' END AS current_flag,
        SHA2(
            TO_JSON(STRUCT(address, CAST(birth_date AS STRING) AS birth_date), MAP('ignoreNullFields', 'true')),
            256
        ) AS row_hash
    FROM versions
)
SELECT
    CASE _scd_action
        WHEN 'open' THEN 'opened'
        WHEN 'close' THEN 'closed'
        WHEN 'correct' THEN 'corrected'
        WHEN 'fold' THEN 'folded'
        ELSE 'unchanged'
    END AS _scd_action,
    region, customer_no,
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
        s.region,
        s.customer_no,
        s.start_date AS _scd_start,
        IF(
            t.region IS NOT NULL,
            STRUCT(
                t.region, t.customer_no, t.name, t.address, t.birth_date, t.customer_sk, t.start_date,
                t.end_date, t.current_flag, t.row_hash
            ),
            NULL
        ) AS _scd_old,
        IF(
            s._scd_action <> 'fold',
            STRUCT(
                s.region, s.customer_no, s.name, s.address, s.birth_date,
                CASE WHEN t.region IS NULL THEN s.customer_sk ELSE t.customer_sk END AS customer_sk,
                s.start_date, s.end_date, s.current_flag, s.row_hash
            ),
            NULL
        ) AS _scd_new,
        MAX(
            GREATEST(
                t.start_date,
                NULLIF(t.end_date, DATE '9999-12-31') + INTERVAL '1' DAY
            )
        ) OVER by_key AS _scd_newest,
        COUNT(s._scd_action) OVER by_key = 0 AND ROW_NUMBER() OVER in_order = 1 AS _scd_idle,
        t.region IS NOT NULL AND t.end_date = DATE '9999-12-31' AS _scd_current,
        BOOL_OR(t.region IS NOT NULL AND t.end_date = DATE '9999-12-31')
            OVER by_key AS _scd_lives,
        BOOL_OR(t.region IS NOT NULL) OVER by_key AS _scd_known,
        MIN(CASE WHEN s._scd_action IS NOT NULL THEN s.start_date END) OVER by_key AS _scd_first_write,
        COALESCE(BOOL_OR(CASE
            WHEN s._scd_action IS NULL THEN t.region IS NOT NULL AND t.end_date = DATE '9999-12-31'
            WHEN s._scd_action <> 'fold' THEN s.end_date = DATE '9999-12-31'
        END) OVER by_key, FALSE) AS _scd_stays
    FROM staged AS s
    FULL OUTER JOIN (SELECT 1 WHERE FALSE) ON TRUE -- adds no row; without it, planning time doubles with each column
    LEFT JOIN dwh.dim_customer AS t
        ON t.region = s.region
            AND t.customer_no = s.customer_no
            AND t.start_date = s.start_date
            AND t.end_date >= _scd_batch_from
            AND ARRAY_CONTAINS(_scd_partitions_1, t.region)
    WINDOW
        by_key AS (PARTITION BY s.region, s.customer_no),
        in_order AS (PARTITION BY s.region, s.customer_no ORDER BY s.start_date)
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
            FROM dwh.dim_customer AS t
            WHERE t.end_date = DATE '9999-12-31'
        ) AS current_keys
    FROM _scd_plan
);

-- Some rows of each action; a value that would change is shown as `old -> new`.
SELECT
    _scd_action AS change,
    CONCAT_WS(', ', CASE WHEN _scd_late THEN 'late' END, CASE WHEN _scd_deletes THEN 'deletes' END) AS note,
    region,
    customer_no,
    ARRAY_JOIN(
        ARRAY_DISTINCT(ARRAY(_scd_old.name, _scd_new.name)),
        ' -> ', 'NULL'
    ) AS name,
    ARRAY_JOIN(
        ARRAY_DISTINCT(ARRAY(_scd_old.address, _scd_new.address)),
        ' -> ', 'NULL'
    ) AS address,
    ARRAY_JOIN(
        ARRAY_DISTINCT(ARRAY(CAST(_scd_old.birth_date AS STRING), CAST(_scd_new.birth_date AS STRING))),
        ' -> ', 'NULL'
    ) AS birth_date,
    _scd_new.customer_sk,
    _scd_new.start_date,
    ARRAY_JOIN(
        ARRAY_DISTINCT(ARRAY(CAST(_scd_old.end_date AS STRING), CAST(_scd_new.end_date AS STRING))),
        ' -> ', 'NULL'
    ) AS end_date,
    ARRAY_JOIN(
        ARRAY_DISTINCT(ARRAY(_scd_old.current_flag, _scd_new.current_flag)),
        ' -> ', 'NULL'
    ) AS current_flag,
    ARRAY_JOIN(
        ARRAY_DISTINCT(ARRAY(_scd_old.row_hash, _scd_new.row_hash)),
        ' -> ', 'NULL'
    ) AS row_hash
FROM (
    SELECT
        _scd_action, _scd_deletes, _scd_late, _scd_start, region, customer_no,
        COALESCE(_scd_old, _scd_new) AS _scd_old,
        COALESCE(_scd_new, _scd_old) AS _scd_new,
        ROW_NUMBER() OVER (PARTITION BY _scd_action, _scd_deletes ORDER BY region, customer_no, _scd_start) AS _scd_row
    FROM _scd_plan
    WHERE _scd_action <> 'unchanged'
)
WHERE _scd_row <= 5
ORDER BY region, customer_no, _scd_start, _scd_action;
