-- r.t42
-- Compares a full extract with the current versions: a new or returning key opens a version, a changed key closes its
-- version and opens another, a missing key closes its version. Load extracts in the order of their times. Stops and
-- writes nothing if a key is NULL, rows of one key differ, the extract is empty, or a version to close is not older
-- than the extract. The same extract again changes nothing.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.
-- Set before this runs: DECLARE OR REPLACE VARIABLE taken BIGINT DEFAULT ...;

-- Every row of the extract takes effect at this time.
DECLARE OR REPLACE VARIABLE _scd_taken_at BIGINT;

SET VARIABLE _scd_taken_at = COALESCE(
    CAST(session.taken AS BIGINT),
    RAISE_ERROR('[SCDGEN_NULL_TIME] r.t42: snapshot.taken_at is NULL')
);

MERGE INTO r.t42 AS t USING (
    WITH source AS (
        SELECT * FROM incoming_42 WHERE 1 = 1
    ),
    source_rows AS (
        -- The source's rows, with the target's column names and types.
        SELECT
            CAST(id AS INT) AS id,
            CAST(region AS STRING) AS region,
            CAST(src_a AS STRING) AS a,
            CAST(b AS INT) AS b,
            CAST(c AS STRING) AS c
        FROM source
    ),
    extract AS (
        -- A row that breaks a rule stops the statement. EXPLODE: rows that the source leaves out are not tested.
        SELECT *
        FROM source_rows LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
        WHERE
            CASE
                WHEN id IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] r.t42: id is NULL')
                WHEN region IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] r.t42: region is NULL')
                ELSE _scd_kept
            END
        UNION ALL
        -- An empty extract would close every version, so it stops the statement.
        SELECT
            RAISE_ERROR('[SCDGEN_EMPTY_SNAPSHOT] r.t42: the snapshot is empty'),
            NULL, NULL, NULL, NULL, NULL
        WHERE NOT EXISTS (SELECT 1 FROM source_rows)
        DISTRIBUTE BY id, region -- one shuffle for the window and the join
    ),
    ranked AS (
        -- Exact copies of a row count once.
        SELECT
            *,
            LAG(STRUCT(a, b, c)) OVER by_key AS _scd_before
        FROM extract
        WINDOW by_key AS (PARTITION BY id, region ORDER BY id, region)
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
                    '[SCDGEN_CONFLICT] r.t42: two different rows of one key: '
                    || TO_JSON(STRUCT(id, region))
                )
            END
    ),
    stored AS (
        -- Open versions, and those that ended at the time of this extract or later, as when it is loaded again.
        SELECT
            t.id, t.region, t.a, t.b, t.c,
            t.begins AS _scd_from,
            t.ends AS _scd_until,
            t.the_action AS _scd_was,
            COALESCE(id < 70, FALSE) AS _scd_in_scope,
            ROW_NUMBER() OVER newest_first AS _scd_row
        FROM r.t42 AS t
        WHERE (t.ends IS NULL OR t.ends >= _scd_taken_at)
        WINDOW newest_first AS (PARTITION BY t.id, t.region ORDER BY t.begins DESC)
        DISTRIBUTE BY id, region -- like the extract, for the join
    ),
    compared AS (
        -- Only keys that differ: missing from the extract, new, changed, or back again.
        SELECT
            COALESCE(n.id, o.id) AS id,
            COALESCE(n.region, o.region) AS region,
            n.a, n.b, n.c,
            _scd_taken_at AS _scd_at,
            o._scd_from, o._scd_until,
            o._scd_was,
            n.id IS NULL AS _scd_gone,
            CASE
                WHEN n.id IS NULL THEN ARRAY('close')
                WHEN o.id IS NULL THEN ARRAY('open')
                WHEN STRUCT(n.c) <=> STRUCT(o.c) THEN ARRAY('correct')
                WHEN o._scd_until IS NOT NULL THEN ARRAY('open')
                ELSE ARRAY('close', 'open')
            END AS _scd_actions
        FROM snapshot AS n
        FULL OUTER JOIN (SELECT * FROM stored WHERE _scd_row = 1) AS o
            ON n.id = o.id
            AND n.region = o.region
        WHERE
            CASE
                WHEN n.id IS NULL THEN o._scd_until IS NULL AND o._scd_in_scope
                WHEN o.id IS NULL OR o._scd_until IS NOT NULL THEN TRUE
                ELSE NOT (STRUCT(n.a, n.b, n.c) <=> STRUCT(o.a, o.b, o.c))
            END
    ),
    versions AS (
        -- A changed key closes a version and opens another. Closing one that is too new stops the run.
        SELECT
            *,
            CASE WHEN _scd_action = 'open' THEN GREATEST(_scd_at, _scd_until) ELSE _scd_from END AS _scd_start,
            CASE WHEN _scd_action = 'close' THEN _scd_at END AS _scd_next
        FROM compared
            LATERAL VIEW EXPLODE(_scd_actions) p AS _scd_action
        WHERE
            CASE
                WHEN _scd_action = 'close' AND _scd_at <= _scd_from
                    THEN RAISE_ERROR(
                        '[SCDGEN_TAKEN_AT] r.t42: the snapshot is not newer than a version that it closes: '
                        || TO_JSON(STRUCT(id, region, _scd_from))
                    )
                ELSE TRUE
            END
    ),
    staged AS (
        -- Rows to write, with their history columns.
        SELECT
            _scd_action,
            id, region, a, b, c,
            _scd_start AS begins,
            _scd_next AS ends,
            CASE WHEN _scd_next IS NULL THEN 1 ELSE 0 END AS is_current,
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
    ON t.id = s.id AND t.region = s.region AND t.begins = s.begins AND (t.ends IS NULL OR t.ends >= _scd_taken_at)
-- The open version of a missing or changed key: only its end is written.
WHEN MATCHED AND s._scd_action = 'close' THEN
    UPDATE SET ends = s.ends, is_current = s.is_current, the_action = s.the_action
-- A version that is open again because its key is back, or whose values are corrected.
WHEN MATCHED THEN
    UPDATE SET a = s.a, b = s.b, c = s.c, ends = s.ends, is_current = s.is_current, the_action = s.the_action
-- A version that is not stored yet.
WHEN NOT MATCHED THEN
    INSERT (id, region, a, b, c, begins, ends, is_current, the_action)
    VALUES (s.id, s.region, s.a, s.b, s.c, s.begins, s.ends, s.is_current, s.the_action);
