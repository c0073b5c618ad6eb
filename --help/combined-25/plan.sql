-- crm.customer
-- Shows what merge.sql would do: how much, then some of its rows. Writes nothing.
-- Generated from inline. To change it, edit the spec and run `scdgen generate`.

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
        CAST(id % 3 AS INT) AS bucket,
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
            ELSE _scd_kept
        END
),
ranked AS (
    -- The rows of each key, the newest first; what comes before a delete does not count.
    SELECT
        *,
        CASE WHEN NOT _scd_deleted THEN STRUCT(name, city, bucket, _scd_sets) END
            <=> FIRST_VALUE(CASE WHEN NOT _scd_deleted THEN STRUCT(name, city, bucket, _scd_sets) END) OVER ties
            AS _scd_agrees,
        COUNT_IF(_scd_deleted) OVER life AS _scd_life,
        ROW_NUMBER() OVER by_key AS _scd_row
    FROM changes
    WINDOW
        by_key AS (PARTITION BY id, region ORDER BY id, region),
        ties AS (
            PARTITION BY id, region ORDER BY id, region
            RANGE BETWEEN CURRENT ROW AND CURRENT ROW
        ),
        life AS (
            PARTITION BY id, region ORDER BY id, region
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        )
),
latest AS (
    -- One row per key; two rows that contradict each other stop the statement.
    SELECT
        id, region,
        MAX_BY(name, name)
            FILTER (WHERE _scd_life = 0 AND ARRAY_CONTAINS(_scd_sets, 'name') IS NOT FALSE)
            AS name,
        MAX_BY(city, city)
            FILTER (WHERE _scd_life = 0 AND ARRAY_CONTAINS(_scd_sets, 'city') IS NOT FALSE)
            AS city,
        MAX_BY(bucket, bucket) FILTER (WHERE _scd_life = 0) AS bucket,
        STRUCT(
            MAX(TRUE)
                FILTER (WHERE _scd_life = 0 AND ARRAY_CONTAINS(_scd_sets, 'name') IS NOT FALSE)
                AS name,
            MAX(TRUE)
                FILTER (WHERE _scd_life = 0 AND ARRAY_CONTAINS(_scd_sets, 'city') IS NOT FALSE)
                AS city
        ) AS _scd_given,
        COUNT_IF(_scd_life = 0) = 0 AS _scd_deleted,
        BOOL_OR(_scd_deleted) AS _scd_anew
    FROM ranked
    WHERE
        CASE
            WHEN _scd_agrees THEN TRUE
            ELSE RAISE_ERROR(
                '[SCDGEN_CONFLICT] crm.customer: two different rows of one key: '
                || TO_JSON(STRUCT(id, region))
            )
        END
    GROUP BY id, region
)
SELECT
    CASE
        WHEN t.id IS NOT NULL
            AND s._scd_deleted THEN 'deleted'
        WHEN t.id IS NOT NULL
            AND s._scd_anew
            AND NOT s._scd_deleted
            AND NOT (STRUCT(t.name, t.city, t.bucket) <=> STRUCT(s.name, s.city, s.bucket)) THEN 'changed'
        WHEN t.id IS NOT NULL
            AND NOT s._scd_deleted
            AND NOT (
                STRUCT(t.name, t.city, t.bucket)
                    <=> STRUCT(
                        CASE WHEN s._scd_given.name THEN s.name ELSE t.name END AS name,
                        CASE WHEN s._scd_given.city THEN s.city ELSE t.city END AS city, s.bucket
                    )
            ) THEN 'changed'
        WHEN t.id IS NULL
            AND NOT s._scd_deleted THEN 'new'
        ELSE 'unchanged'
    END AS _scd_action,
    s.id,
    s.region,
    CASE WHEN t.id IS NOT NULL THEN STRUCT(t.id, t.region, t.name, t.city, t.bucket) END AS _scd_old,
    IF(
        NOT s._scd_deleted,
        STRUCT(
            s.id, s.region,
            CASE
                WHEN t.id IS NULL OR (s._scd_anew) THEN s.name
                ELSE CASE WHEN s._scd_given.name THEN s.name ELSE t.name END
            END AS name,
            CASE
                WHEN t.id IS NULL OR (s._scd_anew) THEN s.city
                ELSE CASE WHEN s._scd_given.city THEN s.city ELSE t.city END
            END AS city,
            s.bucket
        ),
        NULL
    ) AS _scd_new
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
