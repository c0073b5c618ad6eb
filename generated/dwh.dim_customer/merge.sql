-- dwh.dim_customer: Customer dimension; a change of address or date of birth opens a version, a change of name does not
-- Merges a batch of changes into the history: a late change splits, shortens or extends the versions around it, and
-- removes redundant ones. A change that repeats the values before it opens no version; one at the start of a stored
-- version replaces its values. No change deletes a key; other keys stay as they are. Stops and writes nothing if a key
-- or time is NULL, rows of one key, time and sequence differ, or an earlier row arrives during the run. Repeating the
-- last batch changes nothing, except that a late row sets its untracked columns again.
-- Generated from specs/dim_design.yml. To change it, edit the spec and run `scdgen generate`.

-- The batch affects no version that ended before this, so that Delta skips their files.
DECLARE OR REPLACE VARIABLE _scd_batch_from DATE;

-- The partitions of the batch's keys. Delta skips the files of all others.
DECLARE OR REPLACE VARIABLE _scd_partitions_1 ARRAY<STRING>;

SET VARIABLE (_scd_batch_from, _scd_partitions_1) = (
    WITH source_query AS (
        SELECT c.region, c.customer_no, c.full_name, c.street, c.birth_date, c.changed_on, c.change_no
        FROM staging.customer AS c
        WHERE c.customer_no IS NOT NULL
    )
    SELECT MIN(CAST(changed_on AS DATE)) - INTERVAL '1' DAY, COLLECT_SET(CAST(region AS STRING)) FROM source_query
);

MERGE INTO dwh.dim_customer AS t USING (
    WITH source_query AS (
        SELECT c.region, c.customer_no, c.full_name, c.street, c.birth_date, c.changed_on, c.change_no
        FROM staging.customer AS c
        WHERE c.customer_no IS NOT NULL
    ),
    source_rows AS (
        -- The source's rows, with the target's column names and types.
        SELECT
            NULLIF(CAST(region AS STRING), '') AS region,
            CAST(customer_no AS STRING) AS customer_no,
            CAST(full_name AS STRING) AS name,
            CAST(street AS STRING) AS address,
            CAST(birth_date AS DATE) AS birth_date,
            CAST(changed_on AS DATE) AS _scd_at,
            change_no AS _scd_sequence_1
        FROM source_query
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
                THEN RAISE_ERROR('[SCDGEN_SETTINGS] dwh.dim_customer: needs ANSI mode')
            WHEN CURRENT_TIMEZONE() NOT IN ('UTC', 'Etc/UTC', 'GMT')
                THEN RAISE_ERROR('[SCDGEN_TIME_ZONE] dwh.dim_customer: run SET TIME ZONE \'UTC\' first')
            WHEN region IS NULL
                THEN RAISE_ERROR('[SCDGEN_NULL_KEY] dwh.dim_customer: region is NULL, or \'\' in a partition')
            WHEN customer_no IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] dwh.dim_customer: customer_no is NULL')
            WHEN YEAR(LEAST(_scd_at, birth_date)) < 1 OR YEAR(GREATEST(_scd_at, birth_date)) > 9999
                THEN RAISE_ERROR('[SCDGEN_YEAR] dwh.dim_customer: a time is not in the years 1 to 9999')
            WHEN _scd_at IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_TIME] dwh.dim_customer: changed_on is NULL')
            WHEN _scd_at >= DATE '9999-12-31'
                THEN RAISE_ERROR('[SCDGEN_NULL_TIME] dwh.dim_customer: changed_on is not before the open end')
            WHEN _scd_at - INTERVAL '1' DAY >= _scd_batch_from AND ARRAY_CONTAINS(_scd_partitions_1, region) THEN TRUE
            ELSE RAISE_ERROR('[SCDGEN_SOURCE_CHANGED] dwh.dim_customer: the source changed during the run')
        END
    ),
    timeline AS (
        -- A row per event: a change (rank 1), or the start (2) or end (3) of a version that a change can affect.
        SELECT
            region,
            customer_no,
            name,
            address,
            birth_date,
            _scd_at,
            FALSE AS _scd_deleted,
            _scd_sequence_1,
            NULL AS _scd_until,
            1 AS _scd_rank
        FROM changes
        UNION ALL
        SELECT
            t.region,
            t.customer_no,
            t.name,
            t.address,
            t.birth_date,
            _scd_at,
            _scd_deleted,
            NULL,
            NULLIF(t.end_date, DATE '9999-12-31') + INTERVAL '1' DAY,
            _scd_rank
        FROM dwh.dim_customer AS t
        LEFT SEMI JOIN changes AS c
            ON t.region = c.region AND t.customer_no = c.customer_no AND t.end_date >= c._scd_at - INTERVAL '1' DAY
            LATERAL VIEW STACK(
                2,
                t.start_date, FALSE, 2,
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
                OR STRUCT(name, address, birth_date) <=> FIRST_VALUE(STRUCT(name, address, birth_date)) OVER same_time
                AS _scd_agrees,
            FIRST_VALUE(CASE WHEN _scd_rank = 2 THEN STRUCT(name, address, birth_date, _scd_until AS _scd_next) END)
                IGNORE NULLS OVER (PARTITION BY region, customer_no, _scd_at) AS _scd_stored
        FROM timeline
        WINDOW same_time AS (PARTITION BY region, customer_no, _scd_at ORDER BY _scd_rank ASC, _scd_sequence_1 DESC)
    ),
    events AS (
        -- One event per key and time; two changes that contradict each other stop the statement.
        -- An event opens a version unless it is a delete or repeats the state before it.
        SELECT
            *,
            NOT _scd_deleted
                AND NOT (
                    STRUCT(_scd_deleted, address, birth_date)
                        <=> LAG(STRUCT(_scd_deleted, address, birth_date)) OVER by_key
                ) AS _scd_opens
        FROM ranked
        WHERE CASE
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
                PARTITION BY region, customer_no, _scd_run
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
                WHEN _scd_opens AND NOT (_scd_stored <=> STRUCT(name, address, birth_date, _scd_next))
                    THEN IF(_scd_stored._scd_next IS NULL AND _scd_next IS NOT NULL, 'close', 'correct')
            END AS _scd_action,
            region,
            customer_no,
            name,
            address,
            birth_date,
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
    SELECT * FROM staged WHERE _scd_action IS NOT NULL
) AS s
    -- A key and a start identify a version; the rest lets Delta skip files.
    ON t.region = s.region
        AND t.customer_no = s.customer_no
        AND t.start_date = s.start_date
        AND t.end_date >= _scd_batch_from
        AND ARRAY_CONTAINS(_scd_partitions_1, t.region)
-- Redundant: the version before it now has the same values.
WHEN MATCHED AND s._scd_action = 'fold' THEN DELETE
-- A stored version whose end or values change; both are written.
WHEN MATCHED THEN
    UPDATE SET
        name = s.name,
        address = s.address,
        birth_date = s.birth_date,
        end_date = s.end_date,
        current_flag = s.current_flag,
        row_hash = s.row_hash
-- A version that is not stored yet.
WHEN NOT MATCHED THEN
    INSERT (region, customer_no, name, address, birth_date, customer_sk, start_date, end_date, current_flag, row_hash)
    VALUES (
        s.region,
        s.customer_no,
        s.name,
        s.address,
        s.birth_date,
        s.customer_sk,
        s.start_date,
        s.end_date,
        s.current_flag,
        s.row_hash
    );
