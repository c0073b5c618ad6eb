-- shop.product_price: The newest price of each product (type 1)
-- Shows what merge.sql would do: how much, then some of its rows. Writes nothing.
-- Generated from specs/product_price.yml. To change it, edit the spec and run `scdgen generate`.

-- A row per row that the MERGE would write or remove: _scd_old is what is stored, _scd_new what it becomes.
-- Plus one row for each key of the source that needs no change. The steps up to "latest" are those of merge.sql.
CREATE OR REPLACE TEMPORARY VIEW _scd_plan AS
WITH source_rows AS (
    -- The source's rows, with the target's column names and types.
    SELECT
        CAST(product_id AS BIGINT) AS product_id,
        CAST(name AS STRING) AS name,
        CAST(price AS DECIMAL(10, 2)) AS price,
        CAST(changed_at AS TIMESTAMP) AS _scd_at,
        COALESCE(action = 'discontinued', FALSE) AS _scd_deleted,
        change_id AS _scd_sequence_1
    FROM shop.price_changes
),
changes AS (
    -- A row that breaks a rule stops the statement, as does a session that would read values differently.
    -- EXPLODE keeps Spark from testing rows that the source's own filters drop.
    SELECT *
    FROM source_rows LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
    WHERE
        CASE
            WHEN NOT _scd_kept THEN FALSE
            WHEN TYPEOF(COALESCE(1, '')) = 'string' OR TYPEOF(CAST(NULL AS TIMESTAMP)) <> 'timestamp'
                THEN RAISE_ERROR('[SCDGEN_SETTINGS] shop.product_price: needs ANSI mode and TIMESTAMP_LTZ')
            WHEN CURRENT_TIMEZONE() NOT IN ('UTC', 'Etc/UTC', 'GMT')
                THEN RAISE_ERROR('[SCDGEN_TIME_ZONE] shop.product_price: run SET TIME ZONE \'UTC\' first')
            WHEN product_id IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] shop.product_price: product_id is NULL')
            WHEN YEAR(_scd_at) < 1 OR YEAR(_scd_at) > 9999
                THEN RAISE_ERROR('[SCDGEN_YEAR] shop.product_price: a time is not in the years 1 to 9999')
            WHEN _scd_at IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_TIME] shop.product_price: changed_at is NULL')
            ELSE TRUE
        END
),
ranked AS (
    -- The rows of each key, the newest first.
    SELECT
        *,
        CASE WHEN NOT _scd_deleted THEN STRUCT(name, price) END
            <=> FIRST_VALUE(CASE WHEN NOT _scd_deleted THEN STRUCT(name, price) END) OVER ties
            AS _scd_agrees,
        ROW_NUMBER() OVER by_key AS _scd_row
    FROM changes
    WINDOW
        by_key AS (PARTITION BY product_id ORDER BY _scd_at DESC, _scd_sequence_1 DESC),
        ties AS (
            PARTITION BY product_id ORDER BY _scd_at DESC, _scd_sequence_1 DESC
            RANGE BETWEEN CURRENT ROW AND CURRENT ROW
        )
),
latest AS (
    -- One row per key; two rows that contradict each other stop the statement.
    SELECT
        product_id, name, price,
        _scd_at AS updated_at,
        _scd_deleted
    FROM ranked
    WHERE
        CASE
            WHEN _scd_agrees THEN _scd_row = 1
            ELSE RAISE_ERROR(
                '[SCDGEN_CONFLICT] shop.product_price: two different rows of one key and time: '
                || TO_JSON(STRUCT(product_id, _scd_at))
            )
        END
)
SELECT
    CASE
        WHEN t.product_id IS NOT NULL
            AND s._scd_deleted
            AND s.updated_at >= t.updated_at THEN 'deleted'
        WHEN t.product_id IS NOT NULL
            AND NOT s._scd_deleted
            AND s.updated_at >= t.updated_at
            AND NOT (STRUCT(t.name, t.price, t.updated_at) <=> STRUCT(s.name, s.price, s.updated_at)) THEN 'changed'
        WHEN t.product_id IS NULL
            AND NOT s._scd_deleted THEN 'new'
        ELSE 'unchanged'
    END AS _scd_action,
    s.product_id,
    IF(
        t.product_id IS NOT NULL,
        STRUCT(t.product_id, t.name, t.price, t.updated_at),
        NULL
    ) AS _scd_old,
    CASE WHEN NOT s._scd_deleted THEN STRUCT(s.product_id, s.name, s.price, s.updated_at) END AS _scd_new
FROM latest AS s
FULL OUTER JOIN (SELECT 1 WHERE FALSE) ON TRUE -- adds no row; without it, planning time doubles with each column
LEFT JOIN shop.product_price AS t
    ON t.product_id = s.product_id;

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
            FROM shop.product_price
        ) AS current_keys
    FROM _scd_plan
);

-- Some rows of each action; a value that would change is shown as `old -> new`.
SELECT
    _scd_action AS change,
    product_id,
    ARRAY_JOIN(
        ARRAY_DISTINCT(ARRAY(_scd_old.name, _scd_new.name)),
        ' -> ', 'NULL'
    ) AS name,
    ARRAY_JOIN(
        ARRAY_DISTINCT(ARRAY(CAST(_scd_old.price AS STRING), CAST(_scd_new.price AS STRING))),
        ' -> ', 'NULL'
    ) AS price,
    ARRAY_JOIN(
        ARRAY_DISTINCT(ARRAY(CAST(_scd_old.updated_at AS STRING), CAST(_scd_new.updated_at AS STRING))),
        ' -> ', 'NULL'
    ) AS updated_at
FROM (
    SELECT
        _scd_action, product_id,
        COALESCE(_scd_old, _scd_new) AS _scd_old,
        COALESCE(_scd_new, _scd_old) AS _scd_new,
        ROW_NUMBER() OVER (PARTITION BY _scd_action ORDER BY product_id) AS _scd_row
    FROM _scd_plan
    WHERE _scd_action <> 'unchanged'
)
WHERE _scd_row <= 5
ORDER BY product_id, _scd_action;
