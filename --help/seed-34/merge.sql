-- r.t34
-- Compares a full extract with the current versions: a new or returning key opens a version, a changed key closes its
-- version and opens another, a missing key closes its version. Load extracts in the order of their times. Stops and
-- writes nothing if a key is NULL, rows of one key differ, the extract is empty, more than 90 % of the keys would be
-- deleted, or a version to close is not older than the extract. The same extract again changes nothing.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.
-- Set before this runs: DECLARE OR REPLACE VARIABLE taken BIGINT DEFAULT ...;

CREATE OR REPLACE TEMPORARY VIEW _scd_source USING parquet OPTIONS ('path' 'data/x/34/rows', 'mergeSchema' 'false');

DECLARE OR REPLACE VARIABLE least INT;

SET VARIABLE least = CAST(2 AS INT);

-- Every row of the extract takes effect at this time.
DECLARE OR REPLACE VARIABLE _scd_taken_at BIGINT;

SET VARIABLE _scd_taken_at = CASE
    WHEN CAST(session.taken AS BIGINT) < 9999999999 THEN CAST(session.taken AS BIGINT)
    ELSE RAISE_ERROR('[SCDGEN_NULL_TIME] r.t34: snapshot.taken_at is NULL or not before the open end')
END;

MERGE INTO r.t34 AS t USING (
    WITH source_rows AS (
        -- The source's rows, with the target's column names and types.
        SELECT
            CAST(id AS INT) AS id,
            CAST(src_a AS STRING) AS a,
            CAST(b AS INT) AS b,
            CAST(c AS STRING) AS c
        FROM _scd_source
        WHERE (b IS NULL OR b >= session.least)
    ),
    extract AS (
        -- A row that breaks a rule stops the statement. EXPLODE: rows that the source leaves out are not tested.
        SELECT *
        FROM source_rows LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
        WHERE
            CASE
                WHEN id IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] r.t34: id is NULL')
                ELSE _scd_kept
            END
        UNION ALL
        -- An empty extract would close every version, so it stops the statement.
        SELECT
            RAISE_ERROR('[SCDGEN_EMPTY_SNAPSHOT] r.t34: the snapshot is empty'),
            NULL, NULL, NULL, NULL
        WHERE NOT EXISTS (SELECT 1 FROM source_rows)
        DISTRIBUTE BY id -- one shuffle for the window and the join
    ),
    ranked AS (
        -- Exact copies of a row count once.
        SELECT
            *,
            LAG(STRUCT(a, b, c)) OVER by_key AS _scd_before
        FROM extract
        WINDOW by_key AS (PARTITION BY id ORDER BY id)
    ),
    snapshot AS (
        -- One row per key; two rows that contradict each other stop the statement.
        SELECT *
        FROM ranked
        WHERE
            CASE
                WHEN _scd_before IS NULL THEN TRUE
                WHEN _scd_before <=> STRUCT(a, b, c) THEN FALSE
                ELSE RAISE_ERROR(
                    '[SCDGEN_CONFLICT] r.t34: two different rows of one key: ' || TO_JSON(STRUCT(id))
                )
            END
    ),
    stored AS (
        -- Open versions, and those that ended at the time of this extract or later, as when it is loaded again.
        SELECT
            t.id, t.a, t.b, t.c,
            t.begins AS _scd_from,
            NULLIF(t.ends, 9999999999) + 1 AS _scd_until,
            t.the_action AS _scd_was,
            ROW_NUMBER() OVER newest_first AS _scd_row
        FROM r.t34 AS t
        WHERE t.ends >= _scd_taken_at - 1
        WINDOW newest_first AS (PARTITION BY t.id ORDER BY t.begins DESC)
        DISTRIBUTE BY id -- like the extract, for the join
    ),
    compared AS (
        -- Only keys that differ: missing from the extract, new, changed, or back again.
        SELECT
            COALESCE(n.id, o.id) AS id,
            n.a,
            CASE WHEN o._scd_until IS NULL THEN COALESCE(n.b, o.b) ELSE n.b END AS b,
            CASE WHEN o._scd_until IS NULL THEN COALESCE(n.c, o.c) ELSE n.c END AS c,
            _scd_taken_at AS _scd_at,
            o._scd_from, o._scd_until,
            o._scd_was,
            COUNT_IF(n.id IS NULL) OVER () AS _scd_closing,
            n.id IS NULL AS _scd_gone,
            CASE
                WHEN n.id IS NULL THEN ARRAY('close')
                WHEN o.id IS NULL THEN ARRAY('open')
                WHEN STRUCT(
                    n.a, COALESCE(n.b, CASE WHEN o._scd_until IS NULL THEN o.b END) AS b,
                    COALESCE(n.c, CASE WHEN o._scd_until IS NULL THEN o.c END) AS c
                )
                    <=> STRUCT(o.a, o.b, o.c)
                    THEN ARRAY('correct')
                WHEN o._scd_until IS NOT NULL THEN ARRAY('open')
                ELSE ARRAY('close', 'open')
            END AS _scd_actions
        FROM snapshot AS n
        FULL OUTER JOIN (SELECT * FROM stored WHERE _scd_row = 1) AS o
            ON n.id = o.id
        WHERE
            CASE
                WHEN n.id IS NULL THEN o._scd_until IS NULL
                WHEN o.id IS NULL OR o._scd_until IS NOT NULL THEN TRUE
                ELSE NOT (STRUCT(
                    n.a, COALESCE(n.b, CASE WHEN o._scd_until IS NULL THEN o.b END) AS b,
                    COALESCE(n.c, CASE WHEN o._scd_until IS NULL THEN o.c END) AS c
                )
                    <=> STRUCT(o.a, o.b, o.c))
            END
    ),
    versions AS (
        -- A changed key closes a version and opens another. Closing one that is too new, or too many, stops the run.
        SELECT
            *,
            CASE WHEN _scd_action = 'open' THEN GREATEST(_scd_at, _scd_until) ELSE _scd_from END AS _scd_start,
            CASE WHEN _scd_action = 'close' THEN _scd_at END AS _scd_next
        FROM compared
        CROSS JOIN (SELECT COUNT(*) AS _scd_current FROM r.t34 AS t WHERE t.ends = 9999999999)
            LATERAL VIEW EXPLODE(_scd_actions) p AS _scd_action
        WHERE
            CASE
                WHEN _scd_action = 'close' AND _scd_at <= _scd_from
                    THEN RAISE_ERROR(
                        '[SCDGEN_TAKEN_AT] r.t34: the snapshot is not newer than a version that it closes: '
                        || TO_JSON(STRUCT(id, _scd_from))
                    )
                WHEN _scd_closing > 0.9 * _scd_current
                    THEN RAISE_ERROR(
                        '[SCDGEN_MAX_DELETED] r.t34: ' || _scd_closing
                        || IF(_scd_closing = 1, ' key', ' keys') || ' deleted ('
                        || ROUND(100 * _scd_closing / _scd_current, 1) || ' %; limit 90 %)'
                    )
                ELSE TRUE
            END
    ),
    staged AS (
        -- Rows to write, with their history columns.
        SELECT
            _scd_action,
            id, a, b, c,
            _scd_start AS begins,
            COALESCE(_scd_next - 1, 9999999999) AS ends,
            _scd_next IS NULL AS is_current,
            CASE
                WHEN _scd_action = 'open' AND (_scd_from IS NULL OR _scd_until IS NOT NULL) THEN 'I'
                WHEN _scd_action = 'close' AND _scd_gone THEN 'D'
                WHEN _scd_action = 'open' OR _scd_was = 'D' THEN 'U'
                ELSE _scd_was
            END AS the_action
        FROM versions
    )
    SELECT * FROM staged
) AS s
    -- A key and a start identify a version.
    ON t.id = s.id AND t.begins = s.begins AND t.ends >= _scd_taken_at - 1
-- A version that ends, or that is open again because its key is back: only its end is written.
WHEN MATCHED THEN
    UPDATE SET ends = s.ends, is_current = s.is_current, the_action = s.the_action
-- A version that is not stored yet.
WHEN NOT MATCHED THEN
    INSERT (id, a, b, c, begins, ends, is_current, the_action)
    VALUES (s.id, s.a, s.b, s.c, s.begins, s.ends, s.is_current, s.the_action);
