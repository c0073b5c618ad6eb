-- crm.customer: Other
-- Merges a batch of changes into the history: a change that is not newer than what is stored of its key stops the
-- statement. A change that repeats the values before it opens no version; one at a stored start replaces the values. A
-- delete is a version, too; other keys stay as they are. Stops and writes nothing if rows of one key and time differ.
-- Repeating the last batch changes nothing.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

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
            COALESCE(op = 'D', FALSE) AS _scd_deleted
        FROM raw.rows
    ),
    changes AS (
        -- A row without a key or a time is left out.
        SELECT *
        FROM source_rows
        WHERE NOT (id IS NULL OR region IS NULL OR _scd_at IS NULL)
    ),
    timeline AS (
        -- A row per event: a change (rank 1), or the start (2) or end (3) of a version that the batch can affect.
        SELECT id, region, name, city, bucket, _scd_at, _scd_deleted, NULL AS _scd_until, 1 AS _scd_rank
        FROM changes
        UNION ALL
        SELECT t.id, t.region, t.name, t.city, t.bucket, _scd_at, _scd_deleted, t.ends, _scd_rank
        FROM crm.customer AS t
        LEFT SEMI JOIN changes AS c ON t.id = c.id AND t.region = c.region
            LATERAL VIEW STACK(
                2,
                t.valid_from, COALESCE(t.is_deleted, FALSE), 2,
                t.ends, TRUE, 3
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
            CASE WHEN NOT _scd_deleted THEN STRUCT(name, city, bucket) END
                <=> FIRST_VALUE(CASE WHEN NOT _scd_deleted THEN STRUCT(name, city, bucket) END) OVER same_time
                AS _scd_agrees,
            FIRST_VALUE(CASE WHEN _scd_rank = 2 THEN STRUCT(name, city, bucket, _scd_deleted, _scd_until AS _scd_next) END)
                IGNORE NULLS OVER (PARTITION BY id, region, _scd_at) AS _scd_stored
        FROM newest
        WHERE
            CASE
                WHEN _scd_rank = 1 AND _scd_at <= _scd_newest THEN RAISE_ERROR(
                    '[SCDGEN_LATE] crm.customer: a late row: ' || TO_JSON(STRUCT(id, region, _scd_at))
                )
                ELSE TRUE
            END
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
                    '[SCDGEN_CONFLICT] crm.customer: two different rows of one key and time: '
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
            name,
            CASE
                WHEN _scd_deleted THEN city
                ELSE COALESCE(
                        LAST_VALUE(CASE WHEN NOT _scd_deleted THEN city END) IGNORE NULLS OVER by_life,
                        FIRST_VALUE(CASE WHEN NOT _scd_deleted THEN COALESCE(city, CASE WHEN NOT _scd_stored._scd_deleted THEN _scd_stored.city END) END)
                            IGNORE NULLS OVER whole_life
                    )
            END AS city,
            bucket,
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
                ELSE NOT (STRUCT(_scd_deleted, city, bucket)
                    <=> LAG(STRUCT(_scd_deleted, city, bucket)) OVER by_key)
            END
                AS _scd_opens
        FROM given
        WINDOW by_key AS (PARTITION BY id, region ORDER BY _scd_at)
    ),
    known AS (
        -- A delete is a version that keeps the last known values.
        SELECT
            *,
            LAST_VALUE(
                CASE
                    WHEN NOT _scd_deleted OR (_scd_oldest AND _scd_rank = 2)
                        THEN STRUCT(name, city, bucket)
                END
            ) IGNORE NULLS OVER (PARTITION BY id, region ORDER BY _scd_at) AS _scd_known
        FROM opening
    ),
    marked AS (
        -- Each version with its values.
        SELECT
            id,
            region,
            CASE WHEN _scd_deleted THEN _scd_known.name ELSE name END AS name,
            CASE WHEN _scd_deleted THEN _scd_known.city ELSE city END AS city,
            CASE WHEN _scd_deleted THEN _scd_known.bucket ELSE bucket END AS bucket,
            _scd_at, _scd_deleted, _scd_stored, _scd_rank, _scd_oldest, _scd_opens
        FROM known
    ),
    runs AS (
        -- Numbers the versions, to find the newest value of an untracked column in each.
        SELECT
            *,
            COUNT_IF(_scd_opens) OVER (PARTITION BY id, region ORDER BY _scd_at) AS _scd_run
        FROM marked
    ),
    versions AS (
        -- A version lasts until the next version of its key.
        SELECT
            id,
            region,
            LAST_VALUE(name) OVER in_version AS name,
            city,
            bucket,
            _scd_at,
            _scd_deleted,
            _scd_opens,
            _scd_stored,
            LEAD(CASE WHEN _scd_opens THEN _scd_at END) IGNORE NULLS OVER by_key AS _scd_next
        FROM runs
        WINDOW
            by_key AS (PARTITION BY id, region ORDER BY _scd_at),
            in_version AS (
                PARTITION BY id, region, _scd_run ORDER BY _scd_at
                ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
            )
    ),
    staged AS (
        -- Rows to write; the action is NULL if the stored version is already right.
        SELECT
            CASE
                WHEN _scd_opens AND _scd_stored IS NULL THEN 'open'
                WHEN NOT _scd_opens AND _scd_stored IS NOT NULL THEN 'fold'
                WHEN _scd_opens AND NOT (_scd_stored <=> STRUCT(name, city, bucket, _scd_deleted, _scd_next))
                    THEN IF(_scd_stored._scd_next IS NULL AND _scd_next IS NOT NULL, 'close', 'correct')
            END AS _scd_action,
            id, region, name, city, bucket,
            SHA2(
                TO_JSON(ARRAY(CAST(id AS STRING), region, CAST(UNIX_MICROS(_scd_at) AS STRING))), 256
            ) AS sk,
            _scd_at AS valid_from,
            _scd_next AS ends,
            _scd_next IS NULL AS open_now,
            _scd_deleted AS is_deleted
        FROM versions
    )
    SELECT * FROM staged WHERE _scd_action IS NOT NULL
) AS s
    -- A key and a start identify a version.
    ON t.id = s.id AND t.region = s.region AND t.valid_from = s.valid_from
-- Redundant: the version before it now has the same values.
WHEN MATCHED AND s._scd_action = 'fold' THEN DELETE
-- A stored version whose end or values change.
WHEN MATCHED THEN
    UPDATE SET
        name = s.name, city = s.city, bucket = s.bucket, ends = s.ends, open_now = s.open_now,
        is_deleted = s.is_deleted
-- A version that is not stored yet.
WHEN NOT MATCHED THEN
    INSERT (id, region, name, city, bucket, sk, valid_from, ends, open_now, is_deleted)
    VALUES (s.id, s.region, s.name, s.city, s.bucket, s.sk, s.valid_from, s.ends, s.open_now, s.is_deleted);
