-- crm.customer
-- Shows what merge.sql would do: how much, then some of its rows. Writes nothing.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.
-- Set before this runs: DECLARE OR REPLACE VARIABLE since DATE DEFAULT ...;

-- A row per row that the MERGE would write or remove: _scd_old is what is stored, _scd_new what it becomes.
-- And one per key of the source that needs nothing. The steps up to "latest" are those of merge.sql.
CREATE OR REPLACE TEMPORARY VIEW _scd_plan AS
WITH source AS (
    SELECT *
    FROM raw.rows
    WHERE x > 2
),
source_rows AS (
    -- The source's rows, with the target's column names and types.
    SELECT
        CAST(id AS INT) AS id,
        CAST(region AS STRING) AS region,
        CAST(name AS STRING) AS name,
        CAST(town AS STRING) AS city,
        CAST(id % 3 AS INT) AS bucket,
        CAST(happened AS TIMESTAMP) AS _scd_at,
        COALESCE(op = 'D', FALSE) AS _scd_deleted,
        lsn AS _scd_sequence_1
    FROM source
    WHERE happened > session.since
),
changes AS (
    -- A row that breaks a rule stops the statement. EXPLODE: rows that the source leaves out are not tested.
    SELECT *
    FROM source_rows LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
    WHERE
        CASE
            WHEN id IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] crm.customer: id is NULL')
            WHEN _scd_at IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_TIME] crm.customer: happened is NULL')
            ELSE _scd_kept
        END
),
ranked AS (
    -- The rows of each key, the newest first.
    SELECT
        *,
        CASE WHEN NOT _scd_deleted THEN STRUCT(region, name, city, bucket) END
            <=> FIRST_VALUE(CASE WHEN NOT _scd_deleted THEN STRUCT(region, name, city, bucket) END) OVER ties
            AS _scd_agrees,
        ROW_NUMBER() OVER by_key AS _scd_row
    FROM changes
    WINDOW
        by_key AS (PARTITION BY id ORDER BY _scd_at DESC, _scd_sequence_1 DESC),
        ties AS (
            PARTITION BY id ORDER BY _scd_at DESC, _scd_sequence_1 DESC
            RANGE BETWEEN CURRENT ROW AND CURRENT ROW
        )
),
latest AS (
    -- One row per key; two rows that contradict each other stop the statement.
    SELECT
        id, region, name, city, bucket,
        _scd_at AS changed_at,
        _scd_deleted
    FROM ranked
    WHERE
        CASE
            WHEN _scd_agrees THEN _scd_row = 1
            ELSE RAISE_ERROR(
                '[SCDGEN_CONFLICT] crm.customer: two different rows of one key and time: '
                || TO_JSON(STRUCT(id, _scd_at))
            )
        END
)
SELECT
    CASE
        WHEN t.id IS NOT NULL
            AND s._scd_deleted
            AND s.changed_at >= t.changed_at THEN 'deleted'
        WHEN t.id IS NOT NULL
            AND NOT s._scd_deleted
            AND s.changed_at >= t.changed_at
            AND NOT (
                STRUCT(t.region, t.name, t.city, t.bucket, t.changed_at)
                    <=> STRUCT(s.region, s.name, s.city, s.bucket, s.changed_at)
            ) THEN 'changed'
        WHEN t.id IS NULL
            AND NOT s._scd_deleted THEN 'new'
        ELSE 'unchanged'
    END AS _scd_action,
    s.id,
    IF(
        t.id IS NOT NULL,
        STRUCT(t.id, t.region, t.name, t.city, t.bucket, t.changed_at),
        NULL
    ) AS _scd_old,
    IF(
        NOT s._scd_deleted,
        STRUCT(s.id, s.region, s.name, s.city, s.bucket, s.changed_at),
        NULL
    ) AS _scd_new
FROM latest AS s
LEFT JOIN crm.customer AS t
    ON t.id = s.id;

-- Counts: what happens to the keys, and the keys that are there now.
SELECT
    *,
    ROUND(100 * deleted / NULLIF(current_keys, 0), 1) AS deleted_percent
FROM (
    SELECT
        COUNT_IF(_scd_action = 'new') AS new,
        COUNT_IF(_scd_action = 'changed') AS changed,
        COUNT_IF(_scd_action = 'deleted') AS deleted,
        COUNT_IF(_scd_action = 'unchanged') AS unchanged,
        COUNT_IF(_scd_action = 'deleted') AS closed_keys,
        (
            SELECT COUNT(*)
            FROM crm.customer
        ) AS current_keys
    FROM _scd_plan
);

-- Some rows of each action; a value that would change is shown as `old -> new`.
SELECT
    _scd_action AS change,
    id,
    ARRAY_JOIN(
        ARRAY_DISTINCT(ARRAY(_scd_old.region, _scd_new.region)),
        ' -> ', 'NULL'
    ) AS region,
    ARRAY_JOIN(
        ARRAY_DISTINCT(ARRAY(_scd_old.name, _scd_new.name)),
        ' -> ', 'NULL'
    ) AS name,
    ARRAY_JOIN(
        ARRAY_DISTINCT(ARRAY(_scd_old.city, _scd_new.city)),
        ' -> ', 'NULL'
    ) AS city,
    ARRAY_JOIN(
        ARRAY_DISTINCT(ARRAY(CAST(_scd_old.bucket AS STRING), CAST(_scd_new.bucket AS STRING))),
        ' -> ', 'NULL'
    ) AS bucket,
    ARRAY_JOIN(
        ARRAY_DISTINCT(ARRAY(CAST(_scd_old.changed_at AS STRING), CAST(_scd_new.changed_at AS STRING))),
        ' -> ', 'NULL'
    ) AS changed_at
FROM (
    SELECT
        _scd_action, id,
        COALESCE(_scd_old, _scd_new) AS _scd_old,
        COALESCE(_scd_new, _scd_old) AS _scd_new,
        ROW_NUMBER() OVER (PARTITION BY _scd_action ORDER BY id) AS _scd_row
    FROM _scd_plan
    WHERE _scd_action <> 'unchanged'
)
WHERE _scd_row <= 5
ORDER BY id, _scd_action;
