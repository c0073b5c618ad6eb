-- crm.customer
-- Compares a full extract with the current versions: a new or returning key opens a version, a changed key closes its
-- version and opens another, a missing key closes its version. Load extracts in the order of their times. Stops and
-- writes nothing if a key is NULL, rows of one key differ, the extract is empty, a row is older than the open version
-- of its key, or a version to close is not older than the extract. The same extract again changes nothing.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- Every row of the extract takes effect at this time.
DECLARE OR REPLACE VARIABLE _scd_taken_at TIMESTAMP;

SET VARIABLE _scd_taken_at = COALESCE(
    CAST(current_timestamp() AS TIMESTAMP),
    RAISE_ERROR('[SCDGEN_NULL_TIME] crm.customer: snapshot.taken_at is NULL')
);

-- The time of the earliest change. No version that ended before it can be affected, so Delta can skip those files.
DECLARE OR REPLACE VARIABLE _scd_batch_from TIMESTAMP;

SET VARIABLE _scd_batch_from = (
    SELECT COALESCE(MIN(CAST(coalesce(started, happened) AS TIMESTAMP)), _scd_taken_at)
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
            CAST(coalesce(started, happened) AS TIMESTAMP) AS _scd_at
        FROM raw.rows
    ),
    extract AS (
        -- A row that breaks a rule stops the statement. EXPLODE: rows that the source leaves out are not tested.
        SELECT *
        FROM source_rows LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
        WHERE
            CASE
                WHEN id IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] crm.customer: id is NULL')
                WHEN region IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] crm.customer: region is NULL')
                WHEN _scd_at IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_TIME] crm.customer: effective_at is NULL')
                WHEN _scd_at >= _scd_batch_from THEN _scd_kept
                ELSE RAISE_ERROR('[SCDGEN_SOURCE_CHANGED] crm.customer: the source changed during the run')
            END
        UNION ALL
        -- An empty extract would close every version, so it stops the statement.
        SELECT
            RAISE_ERROR('[SCDGEN_EMPTY_SNAPSHOT] crm.customer: the snapshot is empty'),
            NULL, NULL, NULL, NULL, NULL, NULL
        WHERE NOT EXISTS (SELECT 1 FROM source_rows)
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
            t.valid_to AS _scd_until,
            ROW_NUMBER() OVER newest_first AS _scd_row
        FROM crm.customer AS t
        WHERE (t.valid_to IS NULL OR t.valid_to >= _scd_batch_from)
        WINDOW newest_first AS (PARTITION BY t.id, t.region ORDER BY t.valid_from DESC)
        DISTRIBUTE BY id, region -- like the extract, for the join
    ),
    compared AS (
        -- Only keys that differ: missing from the extract, new, changed, or back again.
        SELECT
            COALESCE(n.id, o.id) AS id,
            COALESCE(n.region, o.region) AS region,
            n.name, n.city, n.bucket,
            COALESCE(n._scd_at, _scd_taken_at) AS _scd_at,
            o._scd_from, o._scd_until,
            CASE
                WHEN n.id IS NULL THEN ARRAY('close')
                WHEN o.id IS NULL OR o._scd_until < n._scd_at THEN ARRAY('open')
                WHEN STRUCT(n.name, n.city, n.bucket) <=> STRUCT(o.name, o.city, o.bucket) THEN ARRAY('correct')
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
                WHEN n.id IS NULL THEN o._scd_until IS NULL
                WHEN o.id IS NULL OR o._scd_until IS NOT NULL THEN TRUE
                WHEN STRUCT(n.name, n.city, n.bucket) <=> STRUCT(o.name, o.city, o.bucket) THEN FALSE
                WHEN n._scd_at < o._scd_from THEN RAISE_ERROR(
                    '[SCDGEN_LATE] crm.customer: a late row: '
                    || TO_JSON(STRUCT(n.id, n.region, n._scd_at))
                )
                ELSE TRUE
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
                        '[SCDGEN_TAKEN_AT] crm.customer: the snapshot is not newer than a version that it closes: '
                        || TO_JSON(STRUCT(id, region, _scd_from))
                    )
                ELSE TRUE
            END
    ),
    staged AS (
        -- Rows to write, with their history columns.
        SELECT
            _scd_action,
            id, region, name, city, bucket,
            _scd_start AS valid_from,
            _scd_next AS valid_to,
            _scd_next IS NULL AS is_current
        FROM versions
    )
    SELECT * FROM staged
) AS s
    -- A key and a start identify a version.
    ON t.id = s.id
        AND t.region = s.region
        AND t.valid_from = s.valid_from
        AND (t.valid_to IS NULL OR t.valid_to >= _scd_batch_from)
-- The open version of a missing or changed key: only its end is written.
WHEN MATCHED AND s._scd_action = 'close' THEN
    UPDATE SET valid_to = s.valid_to, is_current = s.is_current
-- A version that is open again because its key is back, or whose values are corrected.
WHEN MATCHED THEN
    UPDATE SET name = s.name, city = s.city, bucket = s.bucket, valid_to = s.valid_to, is_current = s.is_current
-- A version that is not stored yet.
WHEN NOT MATCHED THEN
    INSERT (id, region, name, city, bucket, valid_from, valid_to, is_current)
    VALUES (s.id, s.region, s.name, s.city, s.bucket, s.valid_from, s.valid_to, s.is_current);
