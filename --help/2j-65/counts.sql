WITH c AS (
    -- The versions of raw.customer, which decide which keys exist, and when.
    SELECT
        *,
        CAST(id AS INT) AS _scd_key_1,
        CAST(area AS STRING) AS _scd_key_2,
        CAST(valid_from AS TIMESTAMP) AS _scd_from,
        CAST(valid_to AS TIMESTAMP) AS _scd_until
    FROM raw.customer AS c
    WHERE (c.kind = 1 OR kind = 2)
),
a AS (
    -- The versions of raw.address.
    SELECT
        *,
        CAST(customer_id AS INT) AS _scd_key_1,
        CAST(region AS STRING) AS _scd_key_2,
        CAST(valid_from AS TIMESTAMP) AS _scd_from,
        CAST(valid_to AS TIMESTAMP) AS _scd_until
    FROM raw.address
),
periods AS (
    -- The key and the period of each of these versions.
    SELECT 'c' AS _scd_table, _scd_key_1, _scd_key_2, _scd_from, _scd_until
    FROM c
    UNION ALL
    SELECT 'a' AS _scd_table, _scd_key_1, _scd_key_2, _scd_from, _scd_until
    FROM a
),
boundaries AS (
    -- Each start and each end is a boundary. A version that breaks a rule stops the statement.
    SELECT DISTINCT id, region, _scd_at
    FROM periods
    LATERAL VIEW STACK(
        2, _scd_key_1, _scd_key_2, _scd_from, _scd_key_1, _scd_key_2, _scd_until
    ) b AS id, region, _scd_at
    WHERE
        CASE
            WHEN id IS NULL OR region IS NULL THEN RAISE_ERROR(
                '[SCDGEN_NULL_KEY] crm.customer: a joined version has no key: '
                || TO_JSON(STRUCT(id, region, _scd_table, _scd_from, _scd_until))
            )
            WHEN _scd_from IS NULL THEN RAISE_ERROR(
                '[SCDGEN_NULL_TIME] crm.customer: a joined version has no start: '
                || TO_JSON(STRUCT(id, region, _scd_table, _scd_from, _scd_until))
            )
            WHEN _scd_until <= _scd_from THEN RAISE_ERROR(
                '[SCDGEN_END_BEFORE_START] crm.customer: a joined version does not end after its start: '
                || TO_JSON(STRUCT(id, region, _scd_table, _scd_from, _scd_until))
            )
            ELSE _scd_at IS NOT NULL
        END
),
spans AS (
    -- From each boundary of a key to the next: no version of any table starts or ends in between.
    SELECT id, region, _scd_at, LEAD(_scd_at) OVER (PARTITION BY id, region ORDER BY _scd_at) AS _scd_until
    FROM boundaries
),
given AS (
    -- Each span with the version of each table that is valid in it, and with the target's column names and types.
    SELECT
        spans.id, spans.region,
        CAST(c.name AS STRING) AS name,
        CAST(a.town AS STRING) AS city,
        CAST(c.id % 3 AS INT) AS bucket,
        spans._scd_at, spans._scd_until
    FROM spans
    INNER JOIN c
        ON spans.id = c._scd_key_1
            AND spans.region = c._scd_key_2
            AND spans._scd_at >= c._scd_from
            AND (c._scd_until IS NULL OR spans._scd_at < c._scd_until)
    LEFT JOIN a
        ON spans.id = a._scd_key_1
            AND spans.region = a._scd_key_2
            AND spans._scd_at >= a._scd_from
            AND (a._scd_until IS NULL OR spans._scd_at < a._scd_until)
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
        STRUCT(t.name, t.city, t.bucket, t.valid_to AS _scd_until) AS _scd_stored
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
        _scd_until AS valid_to,
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
            WHEN _scd_action <> 'fold' THEN valid_to IS NULL
        END), FALSE) AS _scd_stays
    FROM staged
    GROUP BY id, region
)