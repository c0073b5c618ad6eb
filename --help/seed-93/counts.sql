WITH source_rows AS (
    -- The source's rows, with the target's column names and types.
    SELECT
        CAST(id AS INT) AS id,
        CAST(region AS STRING) AS region,
        CAST(src_a AS STRING) AS a,
        CAST(b AS INT) AS b,
        CAST(c AS STRING) AS c,
        CAST(happened AS DATE) AS _scd_at
    FROM nowhere
    WHERE (b IS NULL OR b >= session.least)
),
changes AS (
    -- A row that breaks a rule stops the statement. EXPLODE: rows that the source leaves out are not tested.
    SELECT *
    FROM source_rows LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
    WHERE
        CASE
            WHEN id IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] r.t93: id is NULL')
            WHEN region IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] r.t93: region is NULL')
            WHEN _scd_at IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_TIME] r.t93: happened is NULL')
            WHEN _scd_at - INTERVAL '1' DAY >= _scd_batch_from THEN _scd_kept
            ELSE RAISE_ERROR('[SCDGEN_SOURCE_CHANGED] r.t93: the source changed during the run')
        END
),
timeline AS (
    -- A row per event: a change (rank 1), or the start (2) or end (3) of a version that the batch can affect.
    SELECT
        id, region, a, b, c, _scd_at,
        FALSE AS _scd_deleted,
        NULL AS _scd_until,
        NULL AS the_action,
        1 AS _scd_rank
    FROM changes
    UNION ALL
    SELECT t.id, t.region, t.a, t.b, t.c, _scd_at, _scd_deleted, t.ends + INTERVAL '1' DAY, t.the_action, _scd_rank
    FROM r.t93 AS t
    LEFT SEMI JOIN changes AS c ON t.id = c.id AND t.region = c.region
        LATERAL VIEW STACK(
            2,
            t.begins, COALESCE(t.is_deleted, FALSE), 2,
            t.ends + INTERVAL '1' DAY, TRUE, 3
        ) p AS _scd_at, _scd_deleted, _scd_rank
    WHERE _scd_at IS NOT NULL
    DISTRIBUTE BY id, region -- of the whole UNION: one shuffle serves every window
),
newest AS (
    -- The newest start or delete that is stored of each key: what is not later than it is late.
    SELECT
        *,
        MAX(CASE WHEN _scd_rank > 1 THEN _scd_at END) OVER (PARTITION BY id, region) AS _scd_newest
    FROM timeline
),
ranked AS (
    -- At one key and time, a change takes precedence over what is stored.
    SELECT
        *,
        ROW_NUMBER() OVER same_time AS _scd_row,
        FIRST_VALUE(CASE WHEN _scd_rank = 2 THEN STRUCT(a, b, c, the_action, _scd_deleted, _scd_until AS _scd_next) END)
            IGNORE NULLS OVER (PARTITION BY id, region, _scd_at) AS _scd_stored
    FROM newest
    WHERE _scd_rank > 1 OR _scd_newest IS NULL OR _scd_at > _scd_newest
    WINDOW same_time AS (PARTITION BY id, region, _scd_at ORDER BY _scd_rank, STRUCT(a, b, c))
),
events AS (
    -- One event per key and time.
    -- Each opens a version.
    SELECT
        *,
        LAG(_scd_at) OVER by_key IS NULL AS _scd_oldest,
        TRUE AS _scd_opens
    FROM ranked
    WHERE _scd_row = 1
    WINDOW by_key AS (PARTITION BY id, region ORDER BY _scd_at)
),
known AS (
    -- A delete is a version that keeps the last known values.
    SELECT
        *,
        LAST_VALUE(
            CASE
                WHEN NOT _scd_deleted OR (_scd_oldest AND _scd_rank = 2)
                    THEN STRUCT(a, b, c)
            END
        ) IGNORE NULLS OVER (PARTITION BY id, region ORDER BY _scd_at) AS _scd_known
    FROM events
),
marked AS (
    -- Each version with its values.
    SELECT
        id,
        region,
        CASE WHEN _scd_deleted THEN _scd_known.a ELSE a END AS a,
        CASE WHEN _scd_deleted THEN _scd_known.b ELSE b END AS b,
        CASE WHEN _scd_deleted THEN _scd_known.c ELSE c END AS c,
        _scd_at, _scd_deleted, _scd_stored, _scd_rank, _scd_oldest, _scd_opens
    FROM known
),
versions AS (
    -- A version lasts until the next version of its key.
    SELECT
        *,
        COALESCE(LAG(_scd_deleted) OVER by_key, TRUE) AS _scd_begins,
        COALESCE(
            LEAD(_scd_deleted) OVER by_key,
            FALSE
        ) AS _scd_ends_deleted,
        LEAD(_scd_at) OVER by_key AS _scd_next
    FROM marked
    WINDOW by_key AS (PARTITION BY id, region ORDER BY _scd_at)
),
staged AS (
    -- Rows to write; the action is NULL if the stored version is already right.
    SELECT
        CASE
            WHEN _scd_opens AND _scd_stored IS NULL THEN 'open'
            WHEN NOT _scd_opens AND _scd_stored IS NOT NULL THEN 'fold'
            WHEN _scd_opens AND NOT (_scd_stored
                <=> STRUCT(
                    a, b, c,
                    CASE WHEN _scd_ends_deleted THEN 'D' WHEN _scd_begins THEN 'I' ELSE 'U' END AS the_action,
                    _scd_deleted, _scd_next
                ))
                THEN IF(_scd_stored._scd_next IS NULL AND _scd_next IS NOT NULL, 'close', 'correct')
        END AS _scd_action,
        _scd_stored IS NOT NULL AS _scd_known,
        _scd_stored IS NOT NULL AND _scd_stored._scd_next IS NULL AND NOT _scd_stored._scd_deleted AS _scd_live,
        id, region, a, b, c,
        _scd_at AS begins,
        _scd_next - INTERVAL '1' DAY AS ends,
        _scd_next IS NULL AS is_current,
        SHA2(TO_JSON(STRUCT(a), MAP('ignoreNullFields', 'true')), 256) AS the_row_hash,
        CASE WHEN _scd_ends_deleted THEN 'D' WHEN _scd_begins THEN 'I' ELSE 'U' END AS the_action,
        _scd_deleted AS is_deleted
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
            WHEN _scd_action <> 'fold' THEN ends IS NULL AND NOT is_deleted
        END), FALSE) AS _scd_stays
    FROM staged
    GROUP BY id, region
)