-- r.t89: it's \ number 89 -- of */ many
-- Merges a batch of changes into the history: a late change splits, shortens or extends the versions around it, and
-- removes redundant ones. Each change is a version; one at a stored start replaces the values. No change deletes a key;
-- other keys stay as they are. Stops and writes nothing if an earlier row arrives during the run. Repeating the last
-- batch changes nothing.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The time of the earliest change. No version that ended before it can be affected, so Delta can skip those files.
DECLARE OR REPLACE VARIABLE _scd_batch_from TIMESTAMP;

SET VARIABLE _scd_batch_from = (SELECT MIN(CAST(happened AS TIMESTAMP)) - INTERVAL '1' MILLISECOND FROM incoming_89);

MERGE INTO r.t89 AS t USING (
    WITH source_rows AS (
        -- The source's rows, with the target's column names and types.
        SELECT
            CAST(id AS INT) AS id,
            CAST(src_a AS STRING) AS a,
            CAST(b AS INT) AS b,
            CAST(c AS STRING) AS c,
            CAST(happened AS TIMESTAMP) AS _scd_at,
            lsn AS _scd_sequence_1
        FROM incoming_89
    ),
    changes AS (
        -- A row that breaks a rule stops the statement. EXPLODE: rows that the source leaves out are not tested.
        -- A row without a key or a time is left out.
        SELECT *
        FROM source_rows LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
        WHERE
            CASE
                WHEN id IS NULL OR _scd_at IS NULL THEN FALSE
                WHEN _scd_at - INTERVAL '1' MILLISECOND >= _scd_batch_from THEN _scd_kept
                ELSE RAISE_ERROR('[SCDGEN_SOURCE_CHANGED] r.t89: the source changed during the run')
            END
    ),
    timeline AS (
        -- A row per event: a change (rank 1), or the start (2) or end (3) of a version that the batch can affect.
        SELECT
            id, a, b, c, _scd_at,
            FALSE AS _scd_deleted,
            _scd_sequence_1,
            NULL AS _scd_until,
            NULL AS the_action,
            1 AS _scd_rank
        FROM changes
        UNION ALL
        SELECT
            t.id, t.a, t.b, t.c, _scd_at, _scd_deleted, NULL, t.ends + INTERVAL '1' MILLISECOND, t.the_action, _scd_rank
        FROM r.t89 AS t
        LEFT SEMI JOIN changes AS c ON t.id = c.id
            LATERAL VIEW STACK(
                2,
                t.begins, COALESCE(t.is_deleted, FALSE), 2,
                t.ends + INTERVAL '1' MILLISECOND, TRUE, 3
            ) p AS _scd_at, _scd_deleted, _scd_rank
        WHERE _scd_at IS NOT NULL
        DISTRIBUTE BY id -- of the whole UNION: one shuffle serves every window
    ),
    ranked AS (
        -- At one key and time, a change takes precedence over what is stored; the greatest lsn wins.
        SELECT
            *,
            ROW_NUMBER() OVER same_time AS _scd_row,
            FIRST_VALUE(CASE WHEN _scd_rank = 2 THEN STRUCT(a, b, c, the_action, _scd_deleted, _scd_until AS _scd_next) END)
                IGNORE NULLS OVER (PARTITION BY id, _scd_at) AS _scd_stored
        FROM timeline
        WINDOW same_time AS (PARTITION BY id, _scd_at ORDER BY _scd_rank ASC, _scd_sequence_1 DESC, STRUCT(a, b, c))
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
        WINDOW by_key AS (PARTITION BY id ORDER BY _scd_at)
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
            ) IGNORE NULLS OVER (PARTITION BY id ORDER BY _scd_at) AS _scd_known
        FROM events
    ),
    marked AS (
        -- Each version with its values.
        SELECT
            id,
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
        WINDOW by_key AS (PARTITION BY id ORDER BY _scd_at)
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
            id, a, b, c,
            _scd_at AS begins,
            _scd_next - INTERVAL '1' MILLISECOND AS ends,
            CASE WHEN _scd_next IS NULL THEN 1 ELSE 0 END AS is_current,
            SHA2(TO_JSON(STRUCT(CAST(b AS STRING) AS b, c), MAP('ignoreNullFields', 'true')), 256) AS the_row_hash,
            CASE WHEN _scd_ends_deleted THEN 'D' WHEN _scd_begins THEN 'I' ELSE 'U' END AS the_action,
            _scd_deleted AS is_deleted
        FROM versions
    )
    SELECT * FROM staged WHERE _scd_action IS NOT NULL
) AS s
    -- A key and a start identify a version.
    ON t.id = s.id AND t.begins = s.begins AND (t.ends IS NULL OR t.ends >= _scd_batch_from)
-- Redundant: the version before it now has the same values.
WHEN MATCHED AND s._scd_action = 'fold' THEN DELETE
-- A stored version whose end or values change.
WHEN MATCHED THEN
    UPDATE SET
        a = s.a, b = s.b, c = s.c, ends = s.ends, is_current = s.is_current, the_row_hash = s.the_row_hash,
        the_action = s.the_action, is_deleted = s.is_deleted
-- A version that is not stored yet.
WHEN NOT MATCHED THEN
    INSERT (id, a, b, c, begins, ends, is_current, the_row_hash, the_action, is_deleted)
    VALUES (s.id, s.a, s.b, s.c, s.begins, s.ends, s.is_current, s.the_row_hash, s.the_action, s.is_deleted);
