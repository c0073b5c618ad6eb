-- crm.customer
-- Merges a batch of changes into the history: a late change splits, shortens or extends the versions around it, and
-- removes redundant ones. Each change is a version; one at a stored start replaces the values. A delete ends the
-- version of its key; other keys stay as they are. Stops and writes nothing if a key or time is NULL, or an earlier row
-- arrives during the run. Repeating the last batch changes nothing.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The time of the earliest change. No version that ended before it can be affected, so Delta can skip those files.
DECLARE OR REPLACE VARIABLE _scd_batch_from TIMESTAMP;

SET VARIABLE _scd_batch_from = (SELECT MIN(CAST(happened AS TIMESTAMP)) FROM raw.rows);

MERGE INTO crm.customer AS t USING (
    WITH source_rows AS (
        -- The source's rows, with the target's column names and types.
        SELECT
            CAST(id AS INT) AS id,
            CAST(region AS STRING) AS region,
            CAST(name AS STRING) AS name,
            CAST(town AS STRING) AS city,
            CAST(id % 3 AS INT) AS bucket,
            CAST(happened AS TIMESTAMP) AS _scd_at,
            ARRAY_SORT(TRANSFORM(CAST(split(parts, ',') AS ARRAY<STRING>), name -> LOWER(name))) AS _scd_sets,
            COALESCE(op = 'D', FALSE) AS _scd_deleted
        FROM raw.rows
    ),
    changes AS (
        -- A row that breaks a rule stops the statement. EXPLODE: rows that the source leaves out are not tested.
        SELECT *
        FROM source_rows LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
        WHERE
            CASE
                WHEN id IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] crm.customer: id is NULL')
                WHEN region IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] crm.customer: region is NULL')
                WHEN SIZE(ARRAY_EXCEPT(_scd_sets, ARRAY('id', 'region', 'name', 'city', 'bucket'))) > 0
                    THEN RAISE_ERROR(
                        '[SCDGEN_UNKNOWN_COLUMN] crm.customer: source.sets names a column that the spec does not have'
                    )
                WHEN _scd_at IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_TIME] crm.customer: happened is NULL')
                WHEN _scd_at >= _scd_batch_from THEN _scd_kept
                ELSE RAISE_ERROR('[SCDGEN_SOURCE_CHANGED] crm.customer: the source changed during the run')
            END
    ),
    timeline AS (
        -- A row per event: a change (rank 1), or the start (2) or end (3) of a version that the batch can affect.
        SELECT id, region, name, city, bucket, _scd_at, _scd_deleted, _scd_sets, NULL AS _scd_until, 1 AS _scd_rank
        FROM changes
        UNION ALL
        SELECT t.id, t.region, t.name, t.city, t.bucket, _scd_at, _scd_deleted, NULL, t.valid_to, _scd_rank
        FROM crm.customer AS t
        LEFT SEMI JOIN changes AS c ON t.id = c.id AND t.region = c.region
            LATERAL VIEW STACK(2, t.valid_from, FALSE, 2, t.valid_to, TRUE, 3) p AS _scd_at, _scd_deleted, _scd_rank
        WHERE (t.valid_to IS NULL OR t.valid_to >= _scd_batch_from) AND _scd_at IS NOT NULL
        DISTRIBUTE BY id, region -- of the whole UNION: one shuffle serves every window
    ),
    ranked AS (
        -- At one key and time, a change takes precedence over what is stored.
        SELECT
            *,
            ROW_NUMBER() OVER same_time AS _scd_row,
            FIRST_VALUE(CASE WHEN _scd_rank = 2 THEN STRUCT(name, city, bucket, _scd_until AS _scd_next) END)
                IGNORE NULLS OVER (PARTITION BY id, region, _scd_at) AS _scd_stored
        FROM timeline
        WINDOW same_time AS (PARTITION BY id, region, _scd_at ORDER BY _scd_rank, _scd_deleted DESC, STRUCT(name, city, bucket, _scd_sets))
    ),
    events AS (
        -- One event per key and time.
        SELECT
            *,
            COUNT_IF(_scd_deleted) OVER by_key AS _scd_life
        FROM ranked
        WHERE _scd_row = 1
        WINDOW by_key AS (PARTITION BY id, region ORDER BY _scd_at)
    ),
    given AS (
        -- A column that a change does not set, or gives as NULL where that means "not given", keeps its value.
        SELECT
            id,
            region,
            CASE
                WHEN _scd_deleted THEN name
                ELSE (
                    LAST_VALUE(
                        CASE
                            WHEN NOT _scd_deleted AND ARRAY_CONTAINS(_scd_sets, 'name') IS NOT FALSE
                                THEN STRUCT(name)
                        END
                    ) IGNORE NULLS OVER by_life
                ).name
            END AS name,
            CASE
                WHEN _scd_deleted THEN city
                ELSE LAST_VALUE(
                    CASE
                        WHEN NOT _scd_deleted AND ARRAY_CONTAINS(_scd_sets, 'city') IS NOT FALSE
                            THEN city
                    END
                ) IGNORE NULLS OVER by_life
            END AS city,
            bucket,
            _scd_at, _scd_deleted, _scd_stored, _scd_life,
            STRUCT(IF(ARRAY_CONTAINS(_scd_sets, 'name') IS NOT FALSE, STRUCT(name), NULL) AS name) AS _scd_own
        FROM events
        WINDOW
            by_life AS (PARTITION BY id, region, _scd_life ORDER BY _scd_at)
    ),
    opening AS (
        -- Each that is not a delete opens a version.
        SELECT
            *,
            NOT _scd_deleted AS _scd_opens
        FROM given
        WINDOW by_key AS (PARTITION BY id, region ORDER BY _scd_at)
    ),
    kept AS (
        -- A version keeps the values of the change that opened it, or what is stored of it if `compare` sees no change.
        SELECT
            id,
            region,
            CASE
                WHEN _scd_deleted THEN name
                ELSE (LAST_VALUE(_scd_opening.name) IGNORE NULLS OVER by_life).name
            END AS name,
            city,
            bucket,
            _scd_at, _scd_deleted, _scd_stored, _scd_opens
        FROM (
            SELECT
                *,
                CASE
                    WHEN NOT _scd_opens OR _scd_deleted THEN NULL
                    WHEN _scd_stored IS NOT NULL
                        AND STRUCT(lower(trim(_scd_stored.name)) AS name, _scd_stored.city, _scd_stored.bucket)
                            <=> STRUCT(lower(trim(name)) AS name, city, bucket)
                        THEN STRUCT(STRUCT(_scd_stored.name) AS name)
                    ELSE STRUCT(_scd_own.name)
                END AS _scd_opening
            FROM opening
        )
        WINDOW
            by_key AS (PARTITION BY id, region ORDER BY _scd_at),
            by_life AS (PARTITION BY id, region, _scd_life ORDER BY _scd_at)
    ),
    staged AS (
        -- A version ends at the next start or delete, exclusive. The action is NULL if nothing needs to be written.
        SELECT
            LEAD(_scd_at) OVER (PARTITION BY id, region ORDER BY _scd_at) AS _scd_next,
            CASE
                WHEN _scd_opens AND _scd_stored IS NULL THEN 'open'
                WHEN NOT _scd_opens AND _scd_stored IS NOT NULL THEN 'fold'
                WHEN _scd_opens AND NOT (_scd_stored <=> STRUCT(name, city, bucket, _scd_next))
                    THEN IF(_scd_stored._scd_next IS NULL AND _scd_next IS NOT NULL, 'close', 'correct')
            END AS _scd_action,
            id, region, name, city, bucket,
            _scd_at AS valid_from,
            _scd_next AS valid_to,
            _scd_next IS NULL AS is_current
        FROM kept
    )
    SELECT * FROM staged WHERE _scd_action IS NOT NULL
) AS s
    -- A key and a start identify a version.
    ON t.id = s.id
        AND t.region = s.region
        AND t.valid_from = s.valid_from
        AND (t.valid_to IS NULL OR t.valid_to >= _scd_batch_from)
-- Redundant: the version before it now has the same values.
WHEN MATCHED AND s._scd_action = 'fold' THEN DELETE
-- A stored version whose end or values change.
WHEN MATCHED THEN
    UPDATE SET name = s.name, city = s.city, bucket = s.bucket, valid_to = s.valid_to, is_current = s.is_current
-- A version that is not stored yet.
WHEN NOT MATCHED THEN
    INSERT (id, region, name, city, bucket, valid_from, valid_to, is_current)
    VALUES (s.id, s.region, s.name, s.city, s.bucket, s.valid_from, s.valid_to, s.is_current);
