-- crm.customer
-- Shows what merge.sql would do: how much, then some of its rows. Writes nothing.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

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
        CAST(upper(full_name) AS STRING) AS name,
        CAST(town AS STRING) AS city,
        CAST(id % 3 AS INT) AS bucket,
        CAST(started AS TIMESTAMP) AS _scd_at
    FROM source
    WHERE (a = 1 OR b
          = 2)
        AND NOT COALESCE(op = 'D', FALSE)
),
changes AS (
    -- A row without a key or a time is left out.
    SELECT *
    FROM source_rows
    WHERE NOT (id IS NULL OR region IS NULL OR _scd_at IS NULL)
),
ranked AS (
    -- The rows of each key, the newest first.
    SELECT
        *,
        ROW_NUMBER() OVER by_key AS _scd_row
    FROM changes
    WINDOW by_key AS (PARTITION BY id, region ORDER BY _scd_at DESC, STRUCT(name, city, bucket))
),
latest AS (
    -- One row per key.
    SELECT
        id, region,
        MIN_BY(name, STRUCT(_scd_at, STRUCT(name, city, bucket))) AS name,
        MAX_BY(city, STRUCT(_scd_at, STRUCT(name, city, bucket))) AS city,
        MAX_BY(bucket, STRUCT(_scd_at, STRUCT(name, city, bucket))) AS bucket,
        MAX(_scd_at) AS updated,
        MAX(_scd_at) AS _scd_time
    FROM ranked
    GROUP BY id, region
)
SELECT
    CASE
        WHEN t.id IS NOT NULL
            AND NOT (
                STRUCT(t.name, t.city, t.bucket, t.updated)
                    <=> STRUCT(
                        t.name, CASE WHEN s._scd_time >= t.updated THEN s.city ELSE t.city END AS city,
                        CASE WHEN s._scd_time >= t.updated THEN s.bucket ELSE t.bucket END AS bucket,
                        GREATEST(t.updated, s._scd_time) AS updated
                    )
            ) THEN 'changed'
        WHEN t.id IS NULL THEN 'new'
        ELSE 'unchanged'
    END AS _scd_action,
    s.id,
    s.region,
    IF(
        t.id IS NOT NULL,
        STRUCT(t.id, t.region, t.name, t.city, t.bucket, t.updated),
        NULL
    ) AS _scd_old,
    STRUCT(
        s.id, s.region, CASE WHEN t.id IS NULL THEN s.name ELSE t.name END AS name,
        CASE
            WHEN t.id IS NULL THEN s.city
            ELSE CASE WHEN s._scd_time >= t.updated THEN s.city ELSE t.city END
        END AS city,
        CASE
            WHEN t.id IS NULL THEN s.bucket
            ELSE CASE WHEN s._scd_time >= t.updated THEN s.bucket ELSE t.bucket END
        END AS bucket,
        CASE WHEN t.id IS NULL THEN s.updated ELSE GREATEST(t.updated, s._scd_time) END AS updated
    ) AS _scd_new,
    -- It is older than the stored row of its key.
    COALESCE(s._scd_time < t.updated, FALSE) AS _scd_late
FROM latest AS s
LEFT JOIN crm.customer AS t
    ON t.id = s.id AND t.region = s.region;

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
        COUNT_IF(_scd_late AND _scd_action <> 'unchanged') AS late,
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
    CONCAT_WS(', ', CASE WHEN _scd_late THEN 'late' END) AS note,
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
    ) AS bucket,
    ARRAY_JOIN(
        ARRAY_DISTINCT(ARRAY(CAST(_scd_old.updated AS STRING), CAST(_scd_new.updated AS STRING))),
        ' -> ', 'NULL'
    ) AS updated
FROM (
    SELECT
        _scd_action, _scd_late, id, region,
        COALESCE(_scd_old, _scd_new) AS _scd_old,
        COALESCE(_scd_new, _scd_old) AS _scd_new,
        ROW_NUMBER() OVER (PARTITION BY _scd_action ORDER BY id, region) AS _scd_row
    FROM _scd_plan
    WHERE _scd_action <> 'unchanged'
)
WHERE _scd_row <= 5
ORDER BY id, region, _scd_action;
