-- crm.customer
-- Replaces the history of each key in the source with that of the source: a stored version with a start that the source
-- does not have is removed. Equal neighbours become one version. An end at which no other row starts is a delete; other
-- keys stay as they are. Stops and writes nothing if a key or time is NULL, rows of one key and time differ, a row does
-- not end after its start, or two rows of one key overlap. The same source again changes nothing.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

DECLARE OR REPLACE VARIABLE since DATE;

SET VARIABLE since = CAST('2024-05-01' AS DATE);

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
            CAST(nullif(until, happened) AS TIMESTAMP) AS _scd_until
        FROM raw.rows
    ),
    given AS (
        -- A row that breaks a rule stops the statement. EXPLODE: rows that the source leaves out are not tested.
        SELECT *
        FROM source_rows LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
        WHERE
            CASE
                WHEN id IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] crm.customer: id is NULL')
                WHEN region IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] crm.customer: region is NULL')
                WHEN _scd_at IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_TIME] crm.customer: happened is NULL')
                WHEN _scd_until <= _scd_at
                    THEN RAISE_ERROR('[SCDGEN_END_BEFORE_START] crm.customer: effective_until is not after happened')
                ELSE _scd_kept
            END
    ),
    neighbours AS (
        -- Each row with the previous row of its key.
        SELECT
            *,
            LAG(STRUCT(name, city, bucket, _scd_until, _scd_at)) OVER by_key AS _scd_before
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
                WHEN _scd_before <=> STRUCT(name, city, bucket, _scd_until, _scd_at) THEN FALSE
                WHEN _scd_before._scd_at = _scd_at THEN RAISE_ERROR(
                    '[SCDGEN_CONFLICT] crm.customer: two different rows of one key and time: '
                    || TO_JSON(STRUCT(id, region, _scd_at))
                )
                WHEN _scd_before._scd_until <= _scd_at THEN TRUE
                ELSE RAISE_ERROR(
                    '[SCDGEN_OVERLAP] crm.customer: a version begins before the one before it has ended: '
                    || TO_JSON(STRUCT(id, region, _scd_at))
                )
            END
    ),
    runs AS (
        -- Equal neighbours without a gap between them share a number.
        SELECT
            *,
            COUNT_IF(
                NOT (STRUCT(city, bucket, _scd_at)
                    <=> STRUCT(_scd_before.city, _scd_before.bucket, _scd_before._scd_until AS _scd_at))
            ) OVER by_key AS _scd_run
        FROM timeline
        WINDOW by_key AS (PARTITION BY id, region ORDER BY _scd_at)
    ),
    folded AS (
        -- One version per number: the first start, the last end.
        SELECT
            r.id, r.region,
            MAX_BY(r.name, r._scd_at) AS name,
            MIN_BY(r.city, r._scd_at) AS city,
            MIN_BY(r.bucket, r._scd_at) AS bucket,
            MIN(r._scd_at) AS _scd_at,
            MAX_BY(r._scd_until, r._scd_at) AS _scd_until
        FROM runs AS r
        GROUP BY r.id, r.region, r._scd_run
    ),
    stored AS (
        -- The stored versions of the source's keys.
        SELECT
            t.id, t.region,
            t.valid_from AS _scd_at,
            STRUCT(t.name, t.city, t.bucket, t.valid_to AS _scd_until) AS _scd_stored
        FROM crm.customer AS t
        LEFT SEMI JOIN given AS g ON t.id = g.id AND t.region = g.region
    ),
    staged AS (
        -- Every version of these keys, given or stored; the action is NULL if the stored version is already right.
        SELECT
            CASE
                WHEN _scd_stored IS NULL THEN 'open'
                WHEN n._scd_at IS NULL THEN 'fold'
                WHEN NOT (_scd_stored <=> STRUCT(name, city, bucket, _scd_until))
                    THEN IF(_scd_stored._scd_until IS NULL AND _scd_until IS NOT NULL, 'close', 'correct')
            END AS _scd_action,
            id, region, name, city, bucket,
            _scd_at AS valid_from,
            _scd_until AS valid_to,
            _scd_until IS NULL AS is_current
        FROM folded AS n
        FULL OUTER JOIN stored USING (id, region, _scd_at)
    )
    SELECT * FROM staged WHERE _scd_action IS NOT NULL
) AS s
    -- A key and a start identify a version.
    ON t.id = s.id AND t.region = s.region AND t.valid_from = s.valid_from
-- The source has no version with this start.
WHEN MATCHED AND s._scd_action = 'fold' THEN DELETE
-- A stored version whose end or values change.
WHEN MATCHED THEN
    UPDATE SET name = s.name, city = s.city, bucket = s.bucket, valid_to = s.valid_to, is_current = s.is_current
-- A version that is not stored yet.
WHEN NOT MATCHED THEN
    INSERT (id, region, name, city, bucket, valid_from, valid_to, is_current)
    VALUES (s.id, s.region, s.name, s.city, s.bucket, s.valid_from, s.valid_to, s.is_current);
