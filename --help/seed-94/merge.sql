-- r.t94
-- Replaces the history of each key in the source with that of the source: a stored version with a start that the source
-- does not have is removed. Each row is a version. An end at which no other row starts is a delete; other keys stay as
-- they are. Stops and writes nothing if a key or time is NULL, rows of one key and time differ, a row does not end
-- after its start, or two rows of one key overlap. The same source again changes nothing.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

DECLARE OR REPLACE VARIABLE least INT;

SET VARIABLE least = CAST(2 AS INT);

MERGE INTO r.t94 AS t USING (
    WITH source_rows AS (
        -- The source's rows, with the target's column names and types.
        SELECT
            CAST(id AS INT) AS id,
            CAST(region AS STRING) AS region,
            CAST(src_a AS STRING) AS a,
            CAST(b AS INT) AS b,
            CAST(c AS STRING) AS c,
            CAST(happened AS BIGINT) AS _scd_at,
            CAST(ended AS BIGINT) AS _scd_until
        FROM nowhere
        WHERE (b IS NULL OR b >= session.least)
    ),
    given AS (
        -- A row that breaks a rule stops the statement. EXPLODE: rows that the source leaves out are not tested.
        SELECT *
        FROM source_rows LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
        WHERE
            CASE
                WHEN id IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] r.t94: id is NULL')
                WHEN region IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] r.t94: region is NULL')
                WHEN _scd_at IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_TIME] r.t94: happened is NULL')
                WHEN _scd_until <= _scd_at
                    THEN RAISE_ERROR('[SCDGEN_END_BEFORE_START] r.t94: ended is not after happened')
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
                    '[SCDGEN_CONFLICT] r.t94: two different rows of one key and time: '
                    || TO_JSON(STRUCT(id, region, _scd_at))
                )
                WHEN _scd_before._scd_until <= _scd_at THEN TRUE
                ELSE RAISE_ERROR(
                    '[SCDGEN_OVERLAP] r.t94: a version begins before the one before it has ended: '
                    || TO_JSON(STRUCT(id, region, _scd_at))
                )
            END
    ),
    versions AS (
        -- What comes right before and after each version.
        SELECT
            id, region, a, b, c, _scd_at, _scd_until,
            _scd_until IS NOT NULL AND NOT (_scd_until <=> LEAD(_scd_at) OVER by_key) AS _scd_ends_deleted,
            _scd_at IS DISTINCT FROM LAG(_scd_until) OVER by_key AS _scd_begins
        FROM timeline
        WINDOW by_key AS (PARTITION BY id, region ORDER BY _scd_at)
    ),
    stored AS (
        -- The stored versions of the source's keys.
        SELECT
            t.id, t.region,
            t.begins AS _scd_at,
            STRUCT(t.a, t.b, t.c, t.the_action, t.ends AS _scd_until) AS _scd_stored
        FROM r.t94 AS t
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
                        CASE WHEN _scd_ends_deleted THEN 'D' WHEN _scd_begins THEN 'I' ELSE 'U' END AS the_action,
                        _scd_until
                    ))
                    THEN IF(_scd_stored._scd_until IS NULL AND _scd_until IS NOT NULL, 'close', 'correct')
            END AS _scd_action,
            id, region, a, b, c,
            _scd_at AS begins,
            _scd_until AS ends,
            CASE WHEN _scd_until IS NULL THEN 1 ELSE 0 END AS is_current,
            SHA2(TO_JSON(STRUCT(a, CAST(b AS STRING) AS b, c), MAP('ignoreNullFields', 'true')), 256) AS the_row_hash,
            CASE WHEN _scd_ends_deleted THEN 'D' WHEN _scd_begins THEN 'I' ELSE 'U' END AS the_action
        FROM versions AS n
        FULL OUTER JOIN stored USING (id, region, _scd_at)
    )
    SELECT * FROM staged WHERE _scd_action IS NOT NULL
) AS s
    -- A key and a start identify a version.
    ON t.id = s.id AND t.region = s.region AND t.begins = s.begins
-- The source has no version with this start.
WHEN MATCHED AND s._scd_action = 'fold' THEN DELETE
-- A stored version whose end or values change.
WHEN MATCHED THEN
    UPDATE SET
        a = s.a, b = s.b, c = s.c, ends = s.ends, is_current = s.is_current, the_row_hash = s.the_row_hash,
        the_action = s.the_action
-- A version that is not stored yet.
WHEN NOT MATCHED THEN
    INSERT (id, region, a, b, c, begins, ends, is_current, the_row_hash, the_action)
    VALUES (s.id, s.region, s.a, s.b, s.c, s.begins, s.ends, s.is_current, s.the_row_hash, s.the_action);
