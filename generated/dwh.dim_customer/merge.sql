-- dwh.dim_customer: Customer dimension; a change of address or date of birth opens a version, a change of name does not
-- Merges a batch of changes into the history of their keys; other keys stay as they are.
-- Late changes: split or shorten the version that they fall into; one at the start of a version replaces its values.
-- Rows that change nothing: open no version.
-- Deletes: the source has none.
-- Untracked columns: open no version; a row sets them in the version that it falls into.
-- Stops if: a key or time is NULL, a year is not in 1 to 9999, rows tie for the greatest sequence of a key and time but
-- differ, a row before the batch's first or a row of another partition arrives during the run, a time is not before
-- DATE '9999-12-31', the end of open versions, or the session's settings change the result.
-- The same rows again: change nothing, except that a late row sets its untracked columns again.
-- Generated from specs/dim_design.yml. To change it, edit the spec and run `scdgen generate`.

-- The batch affects no version whose stored end is before this time, so Delta can skip their files.
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
        -- The query of the spec.
        SELECT c.region, c.customer_no, c.full_name, c.street, c.birth_date, c.changed_on, c.change_no
        FROM staging.customer AS c
        WHERE c.customer_no IS NOT NULL
    ),
    source_rows AS (
        -- The source's rows, with the target's column names and types.
        -- An empty text of a partition column is NULL here, as a partition stores it.
        -- _scd_rest has the columns with `track: false`.
        SELECT
            NULLIF(CAST(region AS STRING), '') AS region,
            CAST(customer_no AS STRING) AS customer_no,
            STRUCT(CAST(street AS STRING) AS address, CAST(birth_date AS DATE) AS birth_date) AS _scd_state,
            STRUCT(CAST(full_name AS STRING) AS name) AS _scd_rest,
            CAST(changed_on AS DATE) AS _scd_at,
            change_no AS _scd_sequence_1
        FROM source_query
    ),
    ranked AS (
        -- At one key and time the row with the greatest `change_no` wins.
        SELECT *, RANK() OVER (PARTITION BY region, customer_no, _scd_at ORDER BY _scd_sequence_1 DESC) AS _scd_nth
        FROM source_rows
    ),
    changes AS (
        -- One row per key and time. A row that breaks a rule stops the statement.
        SELECT
            region, customer_no, _scd_at,
            MIN(_scd_state) FILTER (WHERE _scd_nth = 1) AS _scd_state,
            MIN(_scd_rest) FILTER (WHERE _scd_nth = 1) AS _scd_rest
        FROM ranked
        GROUP BY region, customer_no, _scd_at
        HAVING CASE
            WHEN TYPEOF(COALESCE(1, '')) = 'string'
                THEN RAISE_ERROR('[SCDGEN_SETTINGS] dwh.dim_customer: needs ANSI mode')
            WHEN CURRENT_TIMEZONE() NOT IN ('UTC', 'Etc/UTC', 'GMT')
                THEN RAISE_ERROR('[SCDGEN_TIME_ZONE] dwh.dim_customer: run SET TIME ZONE \'UTC\' first')
            WHEN region IS NULL
                THEN RAISE_ERROR('[SCDGEN_NULL_KEY] dwh.dim_customer: region is NULL, or \'\' in a partition')
            WHEN customer_no IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] dwh.dim_customer: customer_no is NULL')
            WHEN BOOL_OR(
                YEAR(LEAST(_scd_at, _scd_state.birth_date)) NOT BETWEEN 1 AND 9999
                    OR YEAR(GREATEST(_scd_at, _scd_state.birth_date)) NOT BETWEEN 1 AND 9999
            )
                THEN RAISE_ERROR('[SCDGEN_YEAR] dwh.dim_customer: year not in 1-9999')
            WHEN _scd_at IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_TIME] dwh.dim_customer: changed_on is NULL')
            WHEN _scd_at >= DATE '9999-12-31'
                THEN RAISE_ERROR('[SCDGEN_NULL_TIME] dwh.dim_customer: changed_on is not before the open end')
            WHEN MIN(_scd_state) FILTER (WHERE _scd_nth = 1)
                    IS DISTINCT FROM MAX(_scd_state) FILTER (WHERE _scd_nth = 1)
                OR MIN(_scd_rest) FILTER (WHERE _scd_nth = 1)
                    IS DISTINCT FROM MAX(_scd_rest) FILTER (WHERE _scd_nth = 1)
                THEN RAISE_ERROR('[SCDGEN_CONFLICT] dwh.dim_customer: two rows differ: '
                    || TO_JSON(STRUCT(region, customer_no, _scd_at)))
            WHEN _scd_at - INTERVAL '1' DAY >= _scd_batch_from AND BOOL_AND(ARRAY_CONTAINS(_scd_partitions_1, region))
                THEN TRUE
            ELSE RAISE_ERROR('[SCDGEN_SOURCE_CHANGED] dwh.dim_customer: the source changed during the run')
        END
    ),
    stored AS (
        -- The versions that a change can affect; _scd_to is exclusive. Delta skips files by _scd_batch_from.
        SELECT
            t.region, t.customer_no, t.start_date AS _scd_from,
            NULLIF(t.end_date, DATE '9999-12-31') + INTERVAL '1' DAY AS _scd_to,
            STRUCT(t.address, t.birth_date) AS _scd_state,
            STRUCT(t.name) AS _scd_rest
        FROM dwh.dim_customer AS t
        LEFT SEMI JOIN changes AS c
            ON t.region = c.region AND t.customer_no = c.customer_no AND t.end_date >= c._scd_at - INTERVAL '1' DAY
        WHERE t.end_date >= _scd_batch_from AND ARRAY_CONTAINS(_scd_partitions_1, t.region)
    ),
    events AS (
        -- The state of a key from a time on, NULL for none: a change (rank 1), or a start (2) or end (3) of a version.
        SELECT region, customer_no, _scd_at, _scd_state, _scd_rest, NULL AS _scd_stored, 1 AS _scd_rank FROM changes
        UNION ALL
        SELECT v.region, v.customer_no, e._scd_at, e._scd_state, e._scd_rest, e._scd_stored, e._scd_rank
        FROM stored AS v
            LATERAL VIEW STACK(2,
                v._scd_from, v._scd_state, v._scd_rest, STRUCT(v._scd_state, v._scd_rest, v._scd_to), 2,
                v._scd_to, NULL, NULL, NULL, 3
            ) e AS _scd_at, _scd_state, _scd_rest, _scd_stored, _scd_rank
        WHERE e._scd_at IS NOT NULL
        DISTRIBUTE BY region, customer_no -- of the whole UNION: one shuffle serves every step
    ),
    states AS (
        -- One row per key and time: a change wins over what is stored. _scd_stored: the stored version with this start.
        SELECT
            region, customer_no, _scd_at,
            MIN_BY(_scd_state, _scd_rank) AS _scd_state,
            MIN_BY(_scd_rest, _scd_rank) AS _scd_rest,
            MAX(_scd_stored) AS _scd_stored
        FROM events
        GROUP BY region, customer_no, _scd_at
    ),
    starts AS (
        -- An event opens a version unless it has no state or repeats the state before it.
        SELECT *, _scd_state IS NOT NULL AND _scd_state IS DISTINCT FROM LAG(_scd_state) OVER by_key AS _scd_opens
        FROM states
        WINDOW by_key AS (PARTITION BY region, customer_no ORDER BY _scd_at)
    ),
    runs AS (
        -- Numbers the versions: the last row of each gives its untracked columns.
        SELECT
            *,
            COUNT_IF(_scd_opens OR _scd_state IS NULL)
                OVER (PARTITION BY region, customer_no ORDER BY _scd_at) AS _scd_run
        FROM starts
    ),
    versions AS (
        -- Each event, with the exclusive end of its version: the next event that opens one or has no state.
        SELECT
            region, customer_no, _scd_at, _scd_stored, _scd_opens, _scd_state,
            LAST_VALUE(_scd_rest) OVER (
                PARTITION BY region, customer_no, _scd_run
                ORDER BY _scd_at
                ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
            ) AS _scd_rest,
            LEAD(IF(_scd_opens OR _scd_state IS NULL, _scd_at, NULL)) IGNORE NULLS OVER by_key AS _scd_to
        FROM runs
        WINDOW by_key AS (PARTITION BY region, customer_no ORDER BY _scd_at)
    )
    -- What differs from what is stored.
    SELECT
        region, customer_no, _scd_state.*, _scd_rest.*,
        SHA2(TO_JSON(ARRAY(region, customer_no, CAST(_scd_at AS STRING))), 256) AS customer_sk,
        _scd_at AS start_date,
        COALESCE(_scd_to - INTERVAL '1' DAY, DATE '9999-12-31') AS end_date,
        CASE WHEN _scd_to IS NULL THEN 'Y' ELSE 'N' END AS current_flag,
        SHA2(
            TO_JSON(
                STRUCT(_scd_state.address, CAST(_scd_state.birth_date AS STRING) AS birth_date),
                MAP('ignoreNullFields', 'true')
            ),
            256
        ) AS row_hash,
        _scd_opens
    FROM versions
    WHERE _scd_stored IS DISTINCT FROM CASE WHEN _scd_opens THEN STRUCT(_scd_state, _scd_rest, _scd_to) END
) AS s
    -- A key and a start identify a version; the rest lets Delta skip files.
    ON t.region = s.region
        AND t.customer_no = s.customer_no
        AND t.start_date = s.start_date
        AND t.end_date >= _scd_batch_from
        AND ARRAY_CONTAINS(_scd_partitions_1, t.region)
-- Redundant: the version before it now has the same values.
WHEN MATCHED AND NOT s._scd_opens THEN DELETE
WHEN MATCHED THEN UPDATE SET
    name = s.name, address = s.address, birth_date = s.birth_date, end_date = s.end_date, current_flag = s.current_flag,
    row_hash = s.row_hash
WHEN NOT MATCHED THEN INSERT (
    region, customer_no, name, address, birth_date, customer_sk, start_date, end_date, current_flag, row_hash
) VALUES (
    s.region, s.customer_no, s.name, s.address, s.birth_date, s.customer_sk, s.start_date, s.end_date, s.current_flag,
    s.row_hash
);
