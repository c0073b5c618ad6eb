-- r.t60: it's \ number 60 -- of */ many
-- Merges a batch of changes into the history: a change that is not newer than what is stored of its key is left out. A
-- change that repeats the values before it opens no version; one at a stored start replaces the values. No change
-- deletes a key; other keys stay as they are. Stops and writes nothing if a key or time is NULL, or rows of one key and
-- time differ. Repeating the last batch changes nothing.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

MERGE INTO r.t60 AS t USING (
    WITH source AS (
        SELECT * FROM incoming_60 WHERE 1 = 1
    ),
    source_rows AS (
        -- The source's rows, with the target's column names and types.
        SELECT
            CAST(id AS INT) AS id,
            CAST(region AS STRING) AS region,
            CAST(src_a AS STRING) AS a,
            CAST(b AS INT) AS b,
            CAST(c AS STRING) AS c,
            CAST(happened AS DATE) AS _scd_at
        FROM source
    ),
    changes AS (
        -- A row that breaks a rule stops the statement. EXPLODE: rows that the source leaves out are not tested.
        SELECT *
        FROM source_rows LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
        WHERE
            CASE
                WHEN id IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] r.t60: id is NULL')
                WHEN region IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] r.t60: region is NULL')
                WHEN _scd_at IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_TIME] r.t60: happened is NULL')
                WHEN _scd_at >= DATE '9999-12-31'
                    THEN RAISE_ERROR('[SCDGEN_NULL_TIME] r.t60: happened is not before the open end')
                ELSE _scd_kept
            END
    ),
    timeline AS (
        -- A row per event: a change (rank 1), or the start (2) or end (3) of a version that the batch can affect.
        SELECT id, region, a, b, c, _scd_at, FALSE AS _scd_deleted, NULL AS _scd_until, 1 AS _scd_rank
        FROM changes
        UNION ALL
        SELECT
            t.id, t.region, t.a, t.b, t.c, _scd_at, _scd_deleted,
            NULLIF(t.ends, DATE '9999-12-31') + INTERVAL '1' DAY,
            _scd_rank
        FROM r.t60 AS t
        LEFT SEMI JOIN changes AS c ON t.id = c.id AND t.region = c.region
            LATERAL VIEW STACK(
                2,
                t.begins, COALESCE(t.is_deleted, FALSE), 2,
                NULLIF(t.ends, DATE '9999-12-31') + INTERVAL '1' DAY, TRUE, 3
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
            STRUCT(a, b, c) <=> FIRST_VALUE(STRUCT(a, b, c)) OVER same_time AS _scd_agrees,
            FIRST_VALUE(CASE WHEN _scd_rank = 2 THEN STRUCT(a, b, c, _scd_deleted, _scd_until AS _scd_next) END)
                IGNORE NULLS OVER (PARTITION BY id, region, _scd_at) AS _scd_stored
        FROM newest
        WHERE _scd_rank > 1 OR _scd_newest IS NULL OR _scd_at > _scd_newest
        WINDOW same_time AS (PARTITION BY id, region, _scd_at ORDER BY _scd_rank)
    ),
    events AS (
        -- One event per key and time; two changes that contradict each other stop the statement.
        SELECT
            *,
            LAG(_scd_at) OVER by_key IS NULL AS _scd_oldest,
            COUNT_IF(_scd_deleted) OVER by_key AS _scd_life
        FROM ranked
        WHERE
            CASE
                WHEN _scd_row = 1 THEN TRUE
                WHEN _scd_rank > 1 OR _scd_agrees THEN FALSE
                ELSE RAISE_ERROR(
                    '[SCDGEN_CONFLICT] r.t60: two different rows of one key and time: '
                    || TO_JSON(STRUCT(id, region, _scd_at))
                )
            END
        WINDOW by_key AS (PARTITION BY id, region ORDER BY _scd_at)
    ),
    given AS (
        -- NULL in a change means "not given": the last known value stays; before it, the first known one.
        SELECT
            id,
            region,
            CASE
                WHEN _scd_deleted THEN a
                ELSE COALESCE(
                        LAST_VALUE(CASE WHEN NOT _scd_deleted THEN a END) IGNORE NULLS OVER by_life,
                        FIRST_VALUE(CASE WHEN NOT _scd_deleted THEN COALESCE(a, CASE WHEN NOT _scd_stored._scd_deleted THEN _scd_stored.a END) END)
                            IGNORE NULLS OVER whole_life
                    )
            END AS a,
            b,
            c,
            _scd_at, _scd_deleted, _scd_stored, _scd_rank, _scd_oldest
        FROM events
        WINDOW
            by_life AS (PARTITION BY id, region, _scd_life ORDER BY _scd_at),
            whole_life AS (
                PARTITION BY id, region, _scd_life ORDER BY _scd_at
                ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
            )
    ),
    opening AS (
        -- An event opens a version if it differs from the state before it.
        SELECT
            *,
            CASE
                WHEN _scd_deleted THEN COALESCE(NOT LAG(_scd_deleted) OVER by_key, _scd_rank = 2)
                ELSE NOT (STRUCT(_scd_deleted, a, least(b, 1) AS b, c)
                    <=> LAG(STRUCT(_scd_deleted, a, least(b, 1) AS b, c)) OVER by_key)
            END
                AS _scd_opens
        FROM given
        WINDOW by_key AS (PARTITION BY id, region ORDER BY _scd_at)
    ),
    kept AS (
        -- A version keeps the values of the change that opened it, or what is stored of it if `compare` sees no change.
        SELECT
            id,
            region,
            a,
            CASE
                WHEN _scd_deleted THEN b
                ELSE (LAST_VALUE(_scd_opening) IGNORE NULLS OVER by_key).b
            END AS b,
            c,
            _scd_at, _scd_deleted, _scd_stored, _scd_rank, _scd_oldest, _scd_opens
        FROM (
            SELECT
                *,
                CASE
                    WHEN NOT _scd_opens OR _scd_deleted THEN NULL
                    WHEN _scd_stored IS NOT NULL
                        AND NOT _scd_stored._scd_deleted
                        AND STRUCT(_scd_stored.a, least(_scd_stored.b, 1) AS b, _scd_stored.c)
                            <=> STRUCT(a, least(b, 1) AS b, c)
                        THEN STRUCT(_scd_stored.b)
                    ELSE STRUCT(b)
                END AS _scd_opening
            FROM opening
        )
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
        FROM kept
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
    staged AS (
        -- A version ends at the next start or delete, exclusive. The action is NULL if nothing needs to be written.
        SELECT
            LEAD(CASE WHEN _scd_opens THEN _scd_at END)
                IGNORE NULLS OVER (PARTITION BY id, region ORDER BY _scd_at) AS _scd_next,
            CASE
                WHEN _scd_opens AND _scd_stored IS NULL THEN 'open'
                WHEN NOT _scd_opens AND _scd_stored IS NOT NULL THEN 'fold'
                WHEN _scd_opens AND NOT (_scd_stored <=> STRUCT(a, b, c, _scd_deleted, _scd_next))
                    THEN IF(_scd_stored._scd_next IS NULL AND _scd_next IS NOT NULL, 'close', 'correct')
            END AS _scd_action,
            id, region, a, b, c,
            _scd_at AS begins,
            COALESCE(_scd_next - INTERVAL '1' DAY, DATE '9999-12-31') AS ends,
            CASE WHEN _scd_next IS NULL THEN 'Y' ELSE 'N' END AS current_flag,
            _scd_deleted AS is_deleted
        FROM marked
    )
    SELECT * FROM staged WHERE _scd_action IS NOT NULL
) AS s
    -- A key and a start identify a version.
    ON t.id = s.id AND t.region = s.region AND t.begins = s.begins
-- Redundant: the version before it now has the same values.
WHEN MATCHED AND s._scd_action = 'fold' THEN DELETE
-- A stored version whose end or values change.
WHEN MATCHED THEN
    UPDATE SET a = s.a, b = s.b, c = s.c, ends = s.ends, current_flag = s.current_flag, is_deleted = s.is_deleted
-- A version that is not stored yet.
WHEN NOT MATCHED THEN
    INSERT (id, region, a, b, c, begins, ends, current_flag, is_deleted)
    VALUES (s.id, s.region, s.a, s.b, s.c, s.begins, s.ends, s.current_flag, s.is_deleted);
