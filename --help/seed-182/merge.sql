-- r.t182
-- Replaces the history of each key in the source with that of the source: a stored version with a start that the source
-- does not have is removed. Equal neighbours become one version. An end at which no other row starts is a delete, and a
-- delete is a version, too; other keys stay as they are. Stops and writes nothing if a key or time is NULL, rows of one
-- key and time differ, a row ends before its start, or two rows of one key overlap. The same source again changes
-- nothing.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

CREATE OR REPLACE TEMPORARY VIEW _scd_source USING parquet OPTIONS ('path' 'data/x/182/rows', 'mergeSchema' 'false');

MERGE INTO r.t182 AS t USING (
    WITH source_rows AS (
        -- The source's rows, with the target's column names and types.
        SELECT
            CAST(id AS INT) AS id,
            CAST(src_a AS STRING) AS a,
            CAST(b AS INT) AS b,
            CAST(c AS STRING) AS c,
            CAST(happened AS DATE) AS _scd_at,
            CAST(ended AS DATE) + INTERVAL '1' DAY AS _scd_until
        FROM _scd_source
    ),
    given AS (
        -- A row that breaks a rule stops the statement. EXPLODE: rows that the source leaves out are not tested.
        SELECT *
        FROM source_rows LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
        WHERE
            CASE
                WHEN id IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] r.t182: id is NULL')
                WHEN _scd_at IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_TIME] r.t182: happened is NULL')
                WHEN _scd_until <= _scd_at
                    THEN RAISE_ERROR('[SCDGEN_END_BEFORE_START] r.t182: ended is before happened')
                ELSE _scd_kept
            END
    ),
    neighbours AS (
        -- Each row with the previous row of its key.
        SELECT
            *,
            LAG(STRUCT(a, b, c, _scd_until, _scd_at)) OVER by_key AS _scd_before
        FROM given
        WINDOW by_key AS (PARTITION BY id ORDER BY _scd_at)
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
                    '[SCDGEN_CONFLICT] r.t182: two different rows of one key and time: '
                    || TO_JSON(STRUCT(id, _scd_at))
                )
                WHEN _scd_before._scd_until <= _scd_at THEN TRUE
                ELSE RAISE_ERROR(
                    '[SCDGEN_OVERLAP] r.t182: a version begins before the one before it has ended: '
                    || TO_JSON(STRUCT(id, _scd_at))
                )
            END
    ),
    runs AS (
        -- Equal neighbours without a gap between them share a number.
        SELECT
            *,
            COUNT_IF(
                NOT (STRUCT(a, c, _scd_at)
                    <=> STRUCT(_scd_before.a, _scd_before.c, _scd_before._scd_until AS _scd_at))
            ) OVER by_key AS _scd_run
        FROM timeline
        WINDOW by_key AS (PARTITION BY id ORDER BY _scd_at)
    ),
    folded AS (
        -- One version per number: the first start, the last end.
        SELECT
            r.id,
            MIN_BY(r.a, r._scd_at) AS a,
            MAX_BY(r.b, r._scd_at) AS b,
            MIN_BY(r.c, r._scd_at) AS c,
            MIN(r._scd_at) AS _scd_at,
            MAX_BY(r._scd_until, r._scd_at) AS _scd_until
        FROM runs AS r
        GROUP BY r.id, r._scd_run
    ),
    versions AS (
        -- What comes right before and after each version.
        SELECT
            id, a, b, c, _scd_at, _scd_until,
            LEAD(_scd_at) OVER by_key AS _scd_following,
            _scd_until IS NOT NULL AND NOT (_scd_until <=> LEAD(_scd_at) OVER by_key) AS _scd_ends_deleted
        FROM folded
        WINDOW by_key AS (PARTITION BY id ORDER BY _scd_at)
    ),
    marked AS (
        -- A gap is a delete, and a delete is a version that keeps the last known values.
        SELECT id, a, b, c, _scd_start AS _scd_at, _scd_next AS _scd_until, _scd_deleted
        FROM versions
            LATERAL VIEW STACK(
                2, _scd_at, _scd_until, FALSE, _scd_until, _scd_following, TRUE
            ) p AS _scd_start, _scd_next, _scd_deleted
        WHERE NOT _scd_deleted OR _scd_ends_deleted
    ),
    stored AS (
        -- The stored versions of the source's keys.
        SELECT
            t.id,
            t.begins AS _scd_at,
            STRUCT(
                t.a, t.b, t.c, COALESCE(t.is_deleted, FALSE) AS _scd_deleted,
                t.ends + INTERVAL '1' DAY AS _scd_until
            ) AS _scd_stored
        FROM r.t182 AS t
        LEFT SEMI JOIN given AS g ON t.id = g.id
    ),
    staged AS (
        -- Every version of these keys, given or stored; the action is NULL if the stored version is already right.
        SELECT
            CASE
                WHEN _scd_stored IS NULL THEN 'open'
                WHEN n._scd_at IS NULL THEN 'fold'
                WHEN NOT (_scd_stored <=> STRUCT(a, b, c, _scd_deleted, _scd_until))
                    THEN IF(_scd_stored._scd_until IS NULL AND _scd_until IS NOT NULL, 'close', 'correct')
            END AS _scd_action,
            id, a, b, c,
            _scd_at AS begins,
            _scd_until - INTERVAL '1' DAY AS ends,
            CASE WHEN _scd_until IS NULL THEN 'Y' ELSE 'N' END AS current_flag,
            SHA2(TO_JSON(STRUCT(a, c), MAP('ignoreNullFields', 'true')), 256) AS the_row_hash,
            _scd_deleted AS is_deleted
        FROM marked AS n
        FULL OUTER JOIN stored USING (id, _scd_at)
    )
    SELECT * FROM staged WHERE _scd_action IS NOT NULL
) AS s
    -- A key and a start identify a version.
    ON t.id = s.id AND t.begins = s.begins
-- The source has no version with this start.
WHEN MATCHED AND s._scd_action = 'fold' THEN DELETE
-- A stored version whose end or values change.
WHEN MATCHED THEN
    UPDATE SET
        a = s.a, b = s.b, c = s.c, ends = s.ends, current_flag = s.current_flag, the_row_hash = s.the_row_hash,
        is_deleted = s.is_deleted
-- A version that is not stored yet.
WHEN NOT MATCHED THEN
    INSERT (id, a, b, c, begins, ends, current_flag, the_row_hash, is_deleted)
    VALUES (s.id, s.a, s.b, s.c, s.begins, s.ends, s.current_flag, s.the_row_hash, s.is_deleted);
