WITH source_rows AS (
    -- The source's rows, with the target's column names and types.
    SELECT
        CAST(id AS INT) AS id,
        CAST(region AS STRING) AS region,
        CAST(src_a AS STRING) AS a,
        CAST(b AS INT) AS b,
        CAST(c AS STRING) AS c,
        CAST(happened AS BIGINT) AS _scd_at,
        CAST(ended AS BIGINT) + 1 AS _scd_until
    FROM _scd_source
),
given AS (
    -- A row that breaks a rule stops the statement. EXPLODE: rows that the source leaves out are not tested.
    -- A row without a key or a time is left out.
    SELECT *
    FROM source_rows LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
    WHERE
        CASE
            WHEN id IS NULL OR region IS NULL OR _scd_at IS NULL THEN FALSE
            WHEN _scd_until <= _scd_at
                THEN RAISE_ERROR('[SCDGEN_END_BEFORE_START] r.t38: ended is before happened')
            ELSE _scd_kept
        END
),
neighbours AS (
    -- Each row with the previous row of its key.
    SELECT
        *,
        LAG(STRUCT(a, b, c, _scd_until, _scd_at)) OVER by_key AS _scd_before
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
            WHEN _scd_before <=> STRUCT(a, b, c, _scd_until, _scd_at) THEN FALSE
            WHEN _scd_before._scd_at = _scd_at THEN RAISE_ERROR(
                '[SCDGEN_CONFLICT] r.t38: two different rows of one key and time: '
                || TO_JSON(STRUCT(id, region, _scd_at))
            )
            WHEN _scd_before._scd_until <= _scd_at THEN TRUE
            ELSE RAISE_ERROR(
                '[SCDGEN_OVERLAP] r.t38: a version begins before the one before it has ended: '
                || TO_JSON(STRUCT(id, region, _scd_at))
            )
        END
),
versions AS (
    -- What comes right before and after each version.
    SELECT
        id, region, a, b, c, _scd_at, _scd_until,
        LEAD(_scd_at) OVER by_key AS _scd_following,
        _scd_until IS NOT NULL AND NOT (_scd_until <=> LEAD(_scd_at) OVER by_key) AS _scd_ends_deleted,
        _scd_at IS DISTINCT FROM LAG(_scd_until) OVER by_key AS _scd_begins
    FROM timeline
    WINDOW by_key AS (PARTITION BY id, region ORDER BY _scd_at)
),
marked AS (
    -- A gap is a delete, and a delete is a version that keeps the last known values.
    SELECT
        id, region, a, b, c,
        _scd_start AS _scd_at,
        _scd_next AS _scd_until,
        _scd_deleted, _scd_ends_deleted, _scd_begins
    FROM versions
        LATERAL VIEW STACK(
            2, _scd_at, _scd_until, FALSE, _scd_until, _scd_following, TRUE
        ) p AS _scd_start, _scd_next, _scd_deleted
    WHERE NOT _scd_deleted OR _scd_ends_deleted
),
stored AS (
    -- The stored versions of the source's keys.
    SELECT
        t.id, t.region,
        t.begins AS _scd_at,
        STRUCT(
            t.a, t.b, t.c, t.the_action, COALESCE(t.is_deleted, FALSE) AS _scd_deleted,
            CASE WHEN NOT t.is_current THEN t.ends + 1 END AS _scd_until
        ) AS _scd_stored
    FROM r.t38 AS t
    LEFT SEMI JOIN given AS g ON t.id = g.id AND t.region = g.region
),
staged AS (
    -- Every version of these keys, given or stored; the action is NULL if the stored version is already right.
    SELECT
        CASE
            WHEN _scd_stored IS NULL THEN 'open'
            WHEN n._scd_at IS NULL THEN 'fold'
            WHEN NOT (_scd_stored
                <=> STRUCT(
                    a, b, c,
                    CASE
                        WHEN _scd_deleted THEN 'U'
                        WHEN _scd_ends_deleted THEN 'D'
                        WHEN _scd_begins THEN 'I'
                        ELSE 'U'
                    END
                        AS the_action,
                    _scd_deleted, _scd_until
                ))
                THEN IF(_scd_stored._scd_until IS NULL AND _scd_until IS NOT NULL, 'close', 'correct')
        END AS _scd_action,
        _scd_stored IS NOT NULL AS _scd_known,
        _scd_stored IS NOT NULL AND _scd_stored._scd_until IS NULL AND NOT _scd_stored._scd_deleted AS _scd_live,
        id, region, a, b, c,
        SHA2(TO_JSON(ARRAY(CAST(id AS STRING), region, CAST(_scd_at AS STRING))), 256) AS the_surrogate_key,
        _scd_at AS begins,
        COALESCE(_scd_until - 1, _scd_last_run) AS ends,
        _scd_until IS NULL AS is_current,
        SHA2(TO_JSON(STRUCT(a, CAST(b AS STRING) AS b, c), MAP('ignoreNullFields', 'true')), 256) AS the_row_hash,
        CASE
            WHEN _scd_deleted THEN 'U'
            WHEN _scd_ends_deleted THEN 'D'
            WHEN _scd_begins THEN 'I'
            ELSE 'U'
        END AS the_action,
        _scd_deleted AS is_deleted
    FROM marked AS n
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
            WHEN _scd_action <> 'fold' THEN is_current AND NOT is_deleted
        END), FALSE) AS _scd_stays
    FROM staged
    GROUP BY id, region
)