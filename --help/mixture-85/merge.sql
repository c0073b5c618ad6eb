-- crm.customer
-- Compares a full extract with the current versions: a new or returning key opens a version, a changed key closes its
-- version and opens another, a missing key closes its version. The row of an inferred member completes it; such a
-- member is never closed. A row older than the open version of its key is left out. Load extracts in the order of their
-- times. Stops and writes nothing if a row has the key of the unknown member, rows of one key differ, the extract is
-- empty, more than 25 % of the keys would be deleted, or a version to close is not older than the extract. The same
-- extract again changes nothing.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- Every row of the extract takes effect at this time.
DECLARE OR REPLACE VARIABLE _scd_taken_at DATE;

SET VARIABLE _scd_taken_at = COALESCE(
    CAST(current_timestamp() AS DATE),
    RAISE_ERROR('[SCDGEN_NULL_TIME] crm.customer: snapshot.taken_at is NULL')
);

-- The time of the earliest change. No version that ended before it can be affected, so Delta can skip those files.
DECLARE OR REPLACE VARIABLE _scd_batch_from DATE;

SET VARIABLE _scd_batch_from = (
    SELECT COALESCE(MIN(CAST(coalesce(started, happened) AS DATE)), _scd_taken_at)
    FROM raw.rows
);

MERGE INTO crm.customer AS t USING (
    WITH source_rows AS (
        -- The source's rows, with the target's column names and types.
        SELECT
            CAST(id AS INT) AS id,
            CAST(region AS STRING) AS region,
            CAST(name AS STRING) AS name,
            CAST(town AS STRING) AS city,
            CAST(id % 3 AS INT) AS bucket,
            CAST(coalesce(started, happened) AS DATE) AS _scd_at
        FROM raw.rows
    ),
    extract AS (
        -- A row that breaks a rule stops the statement. EXPLODE: rows that the source leaves out are not tested.
        -- A row without a key or a time is left out.
        SELECT *
        FROM source_rows LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
        WHERE
            CASE
                WHEN id IS NULL OR region IS NULL OR _scd_at IS NULL THEN FALSE
                WHEN id = 0 AND region = 'none'
                    THEN RAISE_ERROR('[SCDGEN_RESERVED_KEY] crm.customer: a row has the reserved key')
                WHEN _scd_at >= _scd_batch_from THEN _scd_kept
                ELSE RAISE_ERROR('[SCDGEN_SOURCE_CHANGED] crm.customer: the source changed during the run')
            END
        UNION ALL
        -- An empty extract would close every version, so it stops the statement.
        SELECT
            RAISE_ERROR('[SCDGEN_EMPTY_SNAPSHOT] crm.customer: the snapshot is empty'),
            NULL, NULL, NULL, NULL, NULL, NULL
        WHERE NOT EXISTS (SELECT 1 FROM source_rows WHERE NOT (id IS NULL OR region IS NULL OR _scd_at IS NULL))
        DISTRIBUTE BY id, region -- one shuffle for the window and the join
    ),
    ranked AS (
        -- Exact copies of a row count once.
        SELECT
            *,
            LAG(STRUCT(name, city, bucket, _scd_at)) OVER by_key AS _scd_before
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
                WHEN _scd_before <=> STRUCT(name, city, bucket, _scd_at) THEN FALSE
                ELSE RAISE_ERROR(
                    '[SCDGEN_CONFLICT] crm.customer: two different rows of one key: '
                    || TO_JSON(STRUCT(id, region))
                )
            END
    ),
    stored AS (
        -- Open versions, and those that ended at the time of this extract or later, as when it is loaded again.
        SELECT
            t.id, t.region, t.name, t.city, t.bucket,
            t.valid_from AS _scd_from,
            t.ends AS _scd_until,
            COALESCE(t.guessed, FALSE) AS _scd_inferred,
            COALESCE(NOT (id = 0 AND region = 'none') AND NOT guessed, FALSE) AS _scd_in_scope,
            ROW_NUMBER() OVER newest_first AS _scd_row
        FROM crm.customer AS t
        WHERE (t.ends IS NULL OR t.ends >= _scd_batch_from)
        WINDOW newest_first AS (PARTITION BY t.id, t.region ORDER BY t.valid_from DESC)
        DISTRIBUTE BY id, region -- like the extract, for the join
    ),
    compared AS (
        -- Only keys that differ: missing from the extract, new, changed, or back again.
        SELECT
            COALESCE(n.id, o.id) AS id,
            COALESCE(n.region, o.region) AS region,
            n.name,
            CASE WHEN o._scd_until IS NULL THEN COALESCE(n.city, o.city) ELSE n.city END AS city,
            n.bucket,
            COALESCE(n._scd_at, _scd_taken_at) AS _scd_at,
            o._scd_from, o._scd_until,
            o._scd_inferred,
            COUNT_IF(n.id IS NULL) OVER () AS _scd_closing,
            NOT (o.id IS NULL) AND o._scd_until IS NULL
                AND (o.city IS NULL AND n.city IS NOT NULL) AS _scd_fills,
            CASE
                WHEN n.id IS NULL THEN ARRAY('close')
                WHEN o.id IS NULL OR o._scd_until < n._scd_at THEN ARRAY('open')
                WHEN o._scd_inferred THEN ARRAY('correct')
                WHEN STRUCT(
                    n.name, COALESCE(n.city, CASE WHEN o._scd_until IS NULL THEN o.city END) AS city,
                    n.bucket
                )
                    <=> STRUCT(
                        o.name, COALESCE(o.city, CASE WHEN o._scd_until IS NULL THEN n.city END) AS city,
                        o.bucket
                    )
                    THEN ARRAY('correct')
                WHEN o._scd_until IS NOT NULL THEN ARRAY('open')
                WHEN n._scd_at = o._scd_from THEN ARRAY('correct')
                ELSE ARRAY('close', 'open')
            END AS _scd_actions
        FROM snapshot AS n
        FULL OUTER JOIN (SELECT * FROM stored WHERE _scd_row = 1) AS o
            ON n.id = o.id
            AND n.region = o.region
        WHERE
            CASE
                WHEN n.id IS NULL THEN o._scd_until IS NULL AND o._scd_in_scope
                WHEN o.id IS NULL OR o._scd_until IS NOT NULL OR o._scd_inferred THEN TRUE
                WHEN STRUCT(
                    n.name, COALESCE(n.city, CASE WHEN o._scd_until IS NULL THEN o.city END) AS city,
                    n.bucket
                )
                    <=> STRUCT(o.name, o.city, o.bucket)
                    THEN FALSE
                WHEN n._scd_at < o._scd_from THEN FALSE
                ELSE TRUE
            END
    ),
    versions AS (
        -- An inferred member gets its values, and begins with the snapshot's row if that is earlier.
        -- A changed key closes a version and opens another. Closing one that is too new, or too many, stops the run.
        SELECT
            *,
            CASE
                WHEN _scd_action = 'open' THEN GREATEST(_scd_at, _scd_until)
                WHEN _scd_inferred THEN LEAST(_scd_at, _scd_from)
                ELSE _scd_from
            END AS _scd_start,
            CASE WHEN _scd_action = 'close' THEN _scd_at END AS _scd_next
        FROM compared
        CROSS JOIN (
            SELECT COUNT(*) AS _scd_current
            FROM crm.customer AS t
            WHERE t.ends IS NULL
                AND NOT (id = 0 AND region = 'none') AND NOT guessed
        )
            LATERAL VIEW EXPLODE(_scd_actions) p AS _scd_action
        WHERE
            CASE
                WHEN _scd_action = 'close' AND _scd_at <= _scd_from
                    THEN RAISE_ERROR(
                        '[SCDGEN_TAKEN_AT] crm.customer: the snapshot is not newer than a version that it closes: '
                        || TO_JSON(STRUCT(id, region, _scd_from))
                    )
                WHEN _scd_closing > 0.25 * _scd_current
                    THEN RAISE_ERROR(
                        '[SCDGEN_MAX_DELETED] crm.customer: ' || _scd_closing
                        || IF(_scd_closing = 1, ' key', ' keys') || ' deleted ('
                        || ROUND(100 * _scd_closing / _scd_current, 1) || ' %; limit 25 %)'
                    )
                ELSE TRUE
            END
    ),
    lives AS (
        -- The versions of keys in which a NULL becomes known, and whether a delete follows each.
        SELECT
            t.id, t.region, t.name, t.city, t.bucket,
            t.valid_from AS _scd_from,
            t.ends AS _scd_until,
            NOT (t.ends <=> LAG(t.valid_from) OVER newest_first) AS _scd_ends
        FROM crm.customer AS t
        LEFT SEMI JOIN (SELECT * FROM compared WHERE _scd_fills) AS c
            ON t.id = c.id
            AND t.region = c.region
        WINDOW newest_first AS (PARTITION BY t.id, t.region ORDER BY t.valid_from DESC)
    ),
    filled AS (
        -- What became known is written into the versions since the last delete; a version that closes now gets its end here.
        SELECT
            l.id,
            l.region,
            l.name,
            COALESCE(l.city, c.city) AS city,
            l.bucket,
            l._scd_from,
            COALESCE(l._scd_until, c._scd_at) AS _scd_until
        FROM (
            SELECT
                *,
                COUNT_IF(_scd_ends) OVER (PARTITION BY id, region ORDER BY _scd_from DESC) AS _scd_life
            FROM lives
        ) AS l
        JOIN compared AS c
            ON l.id = c.id
            AND l.region = c.region
        WHERE l._scd_life = 0
            AND c._scd_fills
            AND (l._scd_until IS NOT NULL OR ARRAY_CONTAINS(c._scd_actions, 'close'))
    ),
    staged AS (
        -- Rows to write, with their history columns.
        SELECT
            _scd_action,
            CASE WHEN _scd_action = 'open' THEN _scd_start ELSE _scd_from END AS _scd_from,
            id, region, name, city, bucket,
            _scd_start AS valid_from,
            _scd_next AS ends,
            _scd_next IS NULL AS is_current,
            SHA2(
                TO_JSON(STRUCT(CAST(bucket AS STRING) AS bucket, city, name), MAP('ignoreNullFields', 'true')),
                256
            ) AS hash,
            FALSE AS guessed
        FROM versions
        WHERE NOT (_scd_fills AND _scd_action = 'close')
        UNION ALL
        SELECT
            'correct' AS _scd_action,
            _scd_from,
            id, region, name, city, bucket,
            _scd_from AS valid_from,
            _scd_until AS ends,
            _scd_until IS NULL AS is_current,
            SHA2(
                TO_JSON(STRUCT(CAST(bucket AS STRING) AS bucket, city, name), MAP('ignoreNullFields', 'true')),
                256
            ) AS hash,
            FALSE AS guessed
        FROM filled
    )
    SELECT * FROM staged
) AS s
    -- A key and a start identify a version; an inferred member has the start from before.
    ON t.id = s.id AND t.region = s.region AND t.valid_from = s._scd_from
-- The open version of a missing or changed key: only its end is written.
WHEN MATCHED AND s._scd_action = 'close' THEN
    UPDATE SET ends = s.ends, is_current = s.is_current
-- A version that is open again because its key is back, or whose values are corrected.
WHEN MATCHED THEN
    UPDATE SET
        name = s.name, city = s.city, bucket = s.bucket, ends = s.ends, is_current = s.is_current, hash = s.hash,
        guessed = s.guessed, valid_from = s.valid_from
-- A version that is not stored yet.
WHEN NOT MATCHED THEN
    INSERT (id, region, name, city, bucket, valid_from, ends, is_current, hash, guessed)
    VALUES (s.id, s.region, s.name, s.city, s.bucket, s.valid_from, s.ends, s.is_current, s.hash, s.guessed);
