WITH source_rows AS (
    -- The source's rows, with the target's column names and types.
    SELECT
        CAST(company AS STRING) AS company,
        CAST(customer_no AS STRING) AS customer_no,
        CAST(name AS STRING) AS name,
        CAST(city AS STRING) AS city,
        CAST(changed_at AS TIMESTAMP) AS _scd_at,
        COALESCE(op = 'D', FALSE) AS _scd_deleted,
        lsn AS _scd_sequence_1
    FROM crm.customer_feed
),
changes AS (
    -- A row that breaks a rule stops the statement. EXPLODE: rows that the source leaves out are not tested.
    SELECT *
    FROM source_rows LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
    WHERE
        CASE
            WHEN company IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] crm.customer_cdc: company is NULL')
            WHEN customer_no IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] crm.customer_cdc: customer_no is NULL')
            WHEN _scd_at IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_TIME] crm.customer_cdc: changed_at is NULL')
            WHEN _scd_at >= _scd_batch_from THEN _scd_kept
            ELSE RAISE_ERROR('[SCDGEN_SOURCE_CHANGED] crm.customer_cdc: the source changed during the run')
        END
),
timeline AS (
    -- A row per event: a change (rank 1), or the start (2) or end (3) of a version that the batch can affect.
    SELECT
        company, customer_no, name, city, _scd_at, _scd_deleted, _scd_sequence_1,
        NULL AS _scd_until,
        NULL AS action,
        1 AS _scd_rank
    FROM changes
    UNION ALL
    SELECT t.company, t.customer_no, t.name, t.city, _scd_at, _scd_deleted, NULL, t.valid_to, t.action, _scd_rank
    FROM crm.customer_cdc AS t
    LEFT SEMI JOIN changes AS c ON t.company = c.company AND t.customer_no = c.customer_no
        LATERAL VIEW STACK(2, t.valid_from, FALSE, 2, t.valid_to, TRUE, 3) p AS _scd_at, _scd_deleted, _scd_rank
    WHERE _scd_at IS NOT NULL
    DISTRIBUTE BY company, customer_no -- of the whole UNION: one shuffle serves every window
),
ranked AS (
    -- At one key and time, a change takes precedence over what is stored; the greatest lsn wins.
    SELECT
        *,
        ROW_NUMBER() OVER same_time AS _scd_row,
        RANK() OVER same_time > 1
            OR CASE WHEN NOT _scd_deleted THEN STRUCT(name, city) END
            <=> FIRST_VALUE(CASE WHEN NOT _scd_deleted THEN STRUCT(name, city) END) OVER same_time
            AS _scd_agrees,
        FIRST_VALUE(CASE WHEN _scd_rank = 2 THEN STRUCT(name, city, action, _scd_until AS _scd_next) END)
            IGNORE NULLS OVER (PARTITION BY company, customer_no, _scd_at) AS _scd_stored
    FROM timeline
    WINDOW same_time AS (PARTITION BY company, customer_no, _scd_at ORDER BY _scd_rank ASC, _scd_sequence_1 DESC)
),
events AS (
    -- One event per key and time; two changes that contradict each other stop the statement.
    -- An event opens a version if it differs from the state before it.
    SELECT
        *,
        NOT _scd_deleted
            AND NOT (STRUCT(_scd_deleted, name, city)
                <=> LAG(STRUCT(_scd_deleted, name, city)) OVER by_key)
            AS _scd_opens
    FROM ranked
    WHERE
        CASE
            WHEN _scd_row = 1 THEN TRUE
            WHEN _scd_agrees THEN FALSE
            ELSE RAISE_ERROR(
                '[SCDGEN_CONFLICT] crm.customer_cdc: two different rows of one key and time: '
                || TO_JSON(STRUCT(company, customer_no, _scd_at))
            )
        END
    WINDOW by_key AS (PARTITION BY company, customer_no ORDER BY _scd_at)
),
versions AS (
    -- A version lasts until the next version or delete of its key.
    SELECT
        *,
        COALESCE(LAG(_scd_deleted) OVER by_key, TRUE) AS _scd_begins,
        COALESCE(
            LEAD(CASE WHEN _scd_opens OR _scd_deleted THEN _scd_deleted END) IGNORE NULLS OVER by_key,
            FALSE
        ) AS _scd_ends_deleted,
        LEAD(CASE WHEN _scd_opens OR _scd_deleted THEN _scd_at END) IGNORE NULLS OVER by_key AS _scd_next
    FROM events
    WINDOW by_key AS (PARTITION BY company, customer_no ORDER BY _scd_at)
),
staged AS (
    -- Rows to write; the action is NULL if the stored version is already right.
    SELECT
        CASE
            WHEN _scd_opens AND _scd_stored IS NULL THEN 'open'
            WHEN NOT _scd_opens AND _scd_stored IS NOT NULL THEN 'fold'
            WHEN _scd_opens AND NOT (_scd_stored
                <=> STRUCT(
                    name, city,
                    CASE WHEN _scd_ends_deleted THEN 'D' WHEN _scd_begins THEN 'I' ELSE 'U' END AS action,
                    _scd_next
                ))
                THEN IF(_scd_stored._scd_next IS NULL AND _scd_next IS NOT NULL, 'close', 'correct')
        END AS _scd_action,
        _scd_stored IS NOT NULL AS _scd_known,
        _scd_stored IS NOT NULL AND _scd_stored._scd_next IS NULL AS _scd_live,
        company, customer_no, name, city,
        _scd_at AS valid_from,
        _scd_next AS valid_to,
        _scd_next IS NULL AS is_current,
        CASE WHEN _scd_ends_deleted THEN 'D' WHEN _scd_begins THEN 'I' ELSE 'U' END AS action
    FROM versions
)
SELECT
    COUNT_IF(_scd_writes > 0 AND NOT _scd_known) AS new,
    COUNT_IF(_scd_writes > 0 AND _scd_known AND _scd_lives = _scd_stays) AS changed,
    COUNT_IF(_scd_lives AND NOT _scd_stays) AS deleted,
    COUNT_IF(_scd_known AND NOT _scd_lives AND _scd_stays) AS returned,
    COUNT_IF(_scd_writes = 0) AS unchanged,
    SUM(_scd_opened) AS opened,
    SUM(_scd_closed) AS closed,
    SUM(_scd_corrected) AS corrected,
    SUM(_scd_folded) AS folded
FROM (
    SELECT
        COUNT_IF(_scd_action = 'open') AS _scd_opened,
        COUNT_IF(_scd_action = 'close') AS _scd_closed,
        COUNT_IF(_scd_action = 'correct') AS _scd_corrected,
        COUNT_IF(_scd_action = 'fold') AS _scd_folded,
        COUNT(_scd_action) AS _scd_writes,
        BOOL_OR(_scd_known) AS _scd_known,
        BOOL_OR(_scd_live) AS _scd_lives,
        COALESCE(BOOL_OR(CASE
            WHEN _scd_action IS NULL THEN _scd_live
            WHEN _scd_action <> 'fold' THEN valid_to IS NULL
        END), FALSE) AS _scd_stays
    FROM staged
    GROUP BY company, customer_no
)