WITH source_rows AS (
    -- The source's rows, with the target's column names and types.
    SELECT
        CAST(id AS INT) AS id,
        CAST(region AS STRING) AS region,
        CAST(name AS STRING) AS name,
        CAST(town AS STRING) AS city,
        CAST(id % 3 AS INT) AS bucket,
        CAST(happened AS TIMESTAMP) AS _scd_at,
        CAST(ended AS TIMESTAMP) AS _scd_until
    FROM raw.rows
),
given AS (
    -- A row that breaks a rule stops the statement. EXPLODE: rows that the source leaves out are not tested.
    SELECT *
    FROM source_rows LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
    WHERE
        CASE
            WHEN id IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] crm.customer: id is NULL')
            WHEN region IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] crm.customer: region is NULL')
            WHEN _scd_at IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_TIME] crm.customer: happened is NULL')
            WHEN _scd_until <= _scd_at
                THEN RAISE_ERROR('[SCDGEN_END_BEFORE_START] crm.customer: ended is not after happened')
            ELSE _scd_kept
        END
),
neighbours AS (
    -- Each row with the previous row of its key.
    SELECT
        *,
        LAG(STRUCT(name, city, bucket, _scd_until, _scd_at)) OVER by_key AS _scd_before
    FROM given
    WINDOW by_key AS (PARTITION BY id, region ORDER BY _scd_at)
),
timeline AS (
    -- Exact copies of a row count once; rows that contradict each other or overlap stop the statement.
    SELECT *
    FROM neighbours
    WHERE
        CASE
            WHEN _scd_before IS NULL THEN TRUE
            WHEN _scd_before <=> STRUCT(name, city, bucket, _scd_until, _scd_at) THEN FALSE
            WHEN _scd_before._scd_at = _scd_at THEN RAISE_ERROR(
                '[SCDGEN_CONFLICT] crm.customer: two different rows of one key and time: '
                || TO_JSON(STRUCT(id, region, _scd_at))
            )
            WHEN _scd_before._scd_until <= _scd_at THEN TRUE
            ELSE RAISE_ERROR(
                '[SCDGEN_OVERLAP] crm.customer: a version begins before the one before it has ended: '
                || TO_JSON(STRUCT(id, region, _scd_at))
            )
        END
),
runs AS (
    -- Equal neighbours without a gap between them share a number.
    SELECT
        *,
        COUNT_IF(
            NOT (STRUCT(name, city, bucket, _scd_at)
                <=> STRUCT(
                    _scd_before.name, _scd_before.city, _scd_before.bucket,
                    _scd_before._scd_until AS _scd_at
                ))
        ) OVER by_key AS _scd_run
    FROM timeline
    WINDOW by_key AS (PARTITION BY id, region ORDER BY _scd_at)
),
folded AS (
    -- One version per number: the first start, the last end.
    SELECT
        r.id, r.region,
        MIN_BY(r.name, r._scd_at) AS name,
        MIN_BY(r.city, r._scd_at) AS city,
        MIN_BY(r.bucket, r._scd_at) AS bucket,
        MIN(r._scd_at) AS _scd_at,
        MAX_BY(r._scd_until, r._scd_at) AS _scd_until
    FROM runs AS r
    GROUP BY r.id, r.region, r._scd_run
),
stored AS (
    -- The stored versions of the source's keys.
    SELECT
        t.id, t.region,
        t.valid_from AS _scd_at,
        STRUCT(
            t.name, t.city, t.bucket, CASE WHEN NOT t.is_current THEN t.valid_to END AS _scd_until
        ) AS _scd_stored
    FROM crm.customer AS t
    LEFT SEMI JOIN given AS g ON t.id = g.id AND t.region = g.region
),
staged AS (
    -- Every version of these keys, given or stored; the action is NULL if the stored version is already right.
    SELECT
        CASE
            WHEN _scd_stored IS NULL THEN 'open'
            WHEN n._scd_at IS NULL THEN 'fold'
            WHEN NOT (_scd_stored <=> STRUCT(name, city, bucket, _scd_until))
                THEN IF(_scd_stored._scd_until IS NULL AND _scd_until IS NOT NULL, 'close', 'correct')
        END AS _scd_action,
        _scd_stored IS NOT NULL AS _scd_known,
        _scd_stored IS NOT NULL AND _scd_stored._scd_until IS NULL AS _scd_live,
        id, region, name, city, bucket,
        _scd_at AS valid_from,
        COALESCE(_scd_until, _scd_last_run) AS valid_to,
        _scd_until IS NULL AS is_current
    FROM folded AS n
    FULL OUTER JOIN stored USING (id, region, _scd_at)
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
            WHEN _scd_action <> 'fold' THEN is_current
        END), FALSE) AS _scd_stays
    FROM staged
    GROUP BY id, region
)