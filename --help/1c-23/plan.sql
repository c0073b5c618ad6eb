-- crm.customer
-- Shows what merge.sql would do: how much, then some of its rows. Writes nothing.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

-- The partitions of the batch's keys; Delta skips the files of all others.
DECLARE OR REPLACE VARIABLE _scd_partitions_1 ARRAY<STRING>;

SET VARIABLE _scd_partitions_1 = (SELECT COLLECT_SET(CAST(region AS STRING)) FROM raw.rows);

-- A row per row that the MERGE would write or remove: _scd_old is what is stored, _scd_new what it becomes.
-- And one per key of the source that needs nothing. The steps up to "latest" are those of merge.sql.
CREATE OR REPLACE TEMPORARY VIEW _scd_plan AS
WITH source_rows AS (
    -- The source's rows, with the target's column names and types.
    SELECT
        CAST(id AS INT) AS id,
        CAST(region AS STRING) AS region,
        CAST(name AS STRING) AS name,
        CAST(town AS STRING) AS city,
        CAST(id % 3 AS INT) AS bucket
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
            WHEN ARRAY_CONTAINS(_scd_partitions_1, region) THEN _scd_kept
            ELSE RAISE_ERROR('[SCDGEN_SOURCE_CHANGED] crm.customer: the source changed during the run')
        END
),
ranked AS (
    -- The rows of each key, the newest first.
    SELECT
        *,
        STRUCT(name, city, bucket) <=> FIRST_VALUE(STRUCT(name, city, bucket)) OVER ties AS _scd_agrees,
        ROW_NUMBER() OVER by_key AS _scd_row
    FROM changes
    WINDOW
        by_key AS (PARTITION BY id, region ORDER BY id, region),
        ties AS (
            PARTITION BY id, region ORDER BY id, region
            RANGE BETWEEN CURRENT ROW AND CURRENT ROW
        )
),
latest AS (
    -- One row per key; two rows that contradict each other stop the statement.
    SELECT
        id, region, name, city, bucket
    FROM ranked
    WHERE
        CASE
            WHEN _scd_agrees THEN _scd_row = 1
            ELSE RAISE_ERROR(
                '[SCDGEN_CONFLICT] crm.customer: two different rows of one key: '
                || TO_JSON(STRUCT(id, region))
            )
        END
)
SELECT
    CASE
        WHEN t.id IS NOT NULL
            AND NOT (STRUCT(t.name, t.city, t.bucket) <=> STRUCT(s.name, s.city, s.bucket)) THEN 'changed'
        WHEN t.id IS NULL THEN 'new'
        ELSE 'unchanged'
    END AS _scd_action,
    s.id,
    s.region,
    CASE WHEN t.id IS NOT NULL THEN STRUCT(t.id, t.region, t.name, t.city, t.bucket) END AS _scd_old,
    STRUCT(s.id, s.region, s.name, s.city, s.bucket) AS _scd_new
FROM latest AS s
LEFT JOIN crm.customer AS t
    ON t.id = s.id AND t.region = s.region AND ARRAY_CONTAINS(_scd_partitions_1, t.region);

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
    region,
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
    ) AS bucket
FROM (
    SELECT
        _scd_action, id, region,
        COALESCE(_scd_old, _scd_new) AS _scd_old,
        COALESCE(_scd_new, _scd_old) AS _scd_new,
        ROW_NUMBER() OVER (PARTITION BY _scd_action ORDER BY id, region) AS _scd_row
    FROM _scd_plan
    WHERE _scd_action <> 'unchanged'
)
WHERE _scd_row <= 5
ORDER BY id, region, _scd_action;
