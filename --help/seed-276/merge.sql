-- r.t276
-- Merges a batch of changes into the history: a late change splits, shortens or extends the versions around it, and
-- removes redundant ones. Each change is a version; one at a stored start replaces the values. A delete is a version,
-- too; other keys stay as they are. Repeating the last batch changes nothing.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

CREATE OR REPLACE TEMPORARY VIEW _scd_source USING parquet OPTIONS ('path' 'data/x/276/rows', 'mergeSchema' 'false');

MERGE INTO r.t276 AS t USING (
    WITH source_rows AS (
        -- The source's rows, with the target's column names and types.
        SELECT
            CAST(id AS INT) AS id,
            CAST(region AS STRING) AS region,
            CAST(src_a AS STRING) AS a,
            CAST(b AS INT) AS b,
            CAST(c AS STRING) AS c,
            CAST(happened AS DATE) AS _scd_at,
            COALESCE(op = 'D', FALSE) AS _scd_deleted
        FROM _scd_source
    ),
    changes AS (
        -- A row without a key or a time is left out.
        SELECT *
        FROM source_rows
        WHERE NOT (id IS NULL OR region IS NULL OR _scd_at IS NULL)
    ),
    timeline AS (
        -- A row per event: a change (rank 1), or the start (2) or end (3) of a version that the batch can affect.
        SELECT id, region, a, b, c, _scd_at, _scd_deleted, NULL AS _scd_until, NULL AS the_action, 1 AS _scd_rank
        FROM changes
        UNION ALL
        SELECT t.id, t.region, t.a, t.b, t.c, _scd_at, _scd_deleted, t.ends, t.the_action, _scd_rank
        FROM r.t276 AS t
        LEFT SEMI JOIN changes AS c ON t.id = c.id AND t.region = c.region
            LATERAL VIEW STACK(
                2,
                t.begins, COALESCE(t.is_deleted, FALSE), 2,
                t.ends, TRUE, 3
            ) p AS _scd_at, _scd_deleted, _scd_rank
        WHERE _scd_at IS NOT NULL
        DISTRIBUTE BY id, region -- of the whole UNION: one shuffle serves every window
    ),
    ranked AS (
        -- At one key and time, a change takes precedence over what is stored.
        SELECT
            *,
            ROW_NUMBER() OVER same_time AS _scd_row,
            FIRST_VALUE(CASE WHEN _scd_rank = 2 THEN STRUCT(a, b, c, the_action, _scd_deleted, _scd_until AS _scd_next) END)
                IGNORE NULLS OVER (PARTITION BY id, region, _scd_at) AS _scd_stored
        FROM timeline
        WINDOW same_time AS (PARTITION BY id, region, _scd_at ORDER BY _scd_rank, _scd_deleted DESC, STRUCT(a, b, c))
    ),
    events AS (
        -- One event per key and time.
        SELECT
            *,
            LAG(_scd_at) OVER by_key IS NULL AS _scd_oldest,
            COUNT_IF(_scd_deleted) OVER by_key AS _scd_life
        FROM ranked
        WHERE _scd_row = 1
        WINDOW by_key AS (PARTITION BY id, region ORDER BY _scd_at)
    ),
    given AS (
        -- NULL in a change means "not given": the last known value stays; before it, the first known one.
        SELECT
            id,
            region,
            a,
            b,
            CASE
                WHEN _scd_deleted THEN c
                ELSE COALESCE(
                        LAST_VALUE(CASE WHEN NOT _scd_deleted THEN c END) IGNORE NULLS OVER by_life,
                        FIRST_VALUE(CASE WHEN NOT _scd_deleted THEN COALESCE(c, CASE WHEN NOT _scd_stored._scd_deleted THEN _scd_stored.c END) END)
                            IGNORE NULLS OVER whole_life
                    )
            END AS c,
            _scd_at, _scd_deleted, _scd_stored, _scd_rank, _scd_oldest, _scd_life,
            STRUCT(c) AS _scd_own
        FROM events
        WINDOW
            by_life AS (PARTITION BY id, region, _scd_life ORDER BY _scd_at),
            whole_life AS (
                PARTITION BY id, region, _scd_life ORDER BY _scd_at
                ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
            )
    ),
    opening AS (
        -- Each opens a version.
        SELECT
            *,
            TRUE AS _scd_opens
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
            CASE
                WHEN _scd_deleted THEN c
                ELSE COALESCE(
                    LAST_VALUE(_scd_opening.c) IGNORE NULLS OVER by_life,
                    FIRST_VALUE(CASE WHEN NOT _scd_deleted THEN c END) IGNORE NULLS OVER by_life
                )
            END AS c,
            _scd_at, _scd_deleted, _scd_stored, _scd_rank, _scd_oldest, _scd_opens
        FROM (
            SELECT
                *,
                CASE
                    WHEN NOT _scd_opens OR _scd_deleted THEN NULL
                    WHEN _scd_stored IS NOT NULL
                        AND NOT _scd_stored._scd_deleted
                        AND STRUCT(least(_scd_stored.b, 1) AS b, _scd_stored.c IS NULL AS c)
                            <=> STRUCT(least(b, 1) AS b, c IS NULL AS c)
                        THEN STRUCT(_scd_stored.b, COALESCE(_scd_stored.c, _scd_own.c) AS c)
                    ELSE STRUCT(b, _scd_own.c)
                END AS _scd_opening
            FROM opening
        )
        WINDOW
            by_key AS (PARTITION BY id, region ORDER BY _scd_at),
            by_life AS (PARTITION BY id, region, _scd_life ORDER BY _scd_at)
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
            id, region, a, b, c,
            SHA2(TO_JSON(ARRAY(CAST(id AS STRING), region, CAST(_scd_at AS STRING))), 256) AS the_surrogate_key,
            _scd_at AS begins,
            _scd_next AS ends,
            CASE WHEN _scd_next IS NULL THEN 1 ELSE 0 END AS is_current,
            SHA2(TO_JSON(STRUCT(CAST(b AS STRING) AS b, c), MAP('ignoreNullFields', 'true')), 256) AS the_row_hash,
            CASE WHEN _scd_ends_deleted THEN 'D' WHEN _scd_begins THEN 'I' ELSE 'U' END AS the_action,
            _scd_deleted AS is_deleted
        FROM versions
    )
    SELECT * FROM staged WHERE _scd_action IS NOT NULL
) AS s
    -- A key and a start identify a version.
    ON t.id = s.id AND t.region = s.region AND t.begins = s.begins
-- Redundant: the version before it now has the same values.
WHEN MATCHED AND s._scd_action = 'fold' THEN DELETE
-- A stored version whose end or values change.
WHEN MATCHED THEN
    UPDATE SET
        a = s.a, b = s.b, c = s.c, ends = s.ends, is_current = s.is_current, the_row_hash = s.the_row_hash,
        the_action = s.the_action, is_deleted = s.is_deleted
-- A version that is not stored yet.
WHEN NOT MATCHED THEN
    INSERT (id, region, a, b, c, the_surrogate_key, begins, ends, is_current, the_row_hash, the_action, is_deleted)
    VALUES (
        s.id, s.region, s.a, s.b, s.c, s.the_surrogate_key, s.begins, s.ends, s.is_current, s.the_row_hash,
        s.the_action, s.is_deleted
    );
