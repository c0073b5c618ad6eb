-- retail.orders: The facts, one row per order; guests order without a customer
-- Shows what merge.sql would do: how much, then some of its rows. Writes nothing.
-- Generated from specs/sales/orders.yml. To change it, edit the spec and run `scdgen generate`.

-- A row per row that the MERGE would write or remove: _scd_old is what is stored, _scd_new what it becomes.
-- Plus one row for each key of the source that needs no change. The steps up to "latest" are those of merge.sql.
CREATE OR REPLACE TEMPORARY VIEW _scd_plan AS
WITH source_rows AS (
    -- The source's rows, with the target's column names and types.
    SELECT
        CAST(order_id AS INT) AS order_id,
        CAST(customer_id AS INT) AS customer_id,
        CAST(ordered_at AS TIMESTAMP) AS ordered_at,
        CAST(amount AS DECIMAL(10, 2)) AS amount
    FROM retail_landing.order_rows
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
                THEN RAISE_ERROR('[SCDGEN_SETTINGS] retail.orders: needs ANSI mode and TIMESTAMP_LTZ')
            WHEN CURRENT_TIMEZONE() NOT IN ('UTC', 'Etc/UTC', 'GMT')
                THEN RAISE_ERROR('[SCDGEN_TIME_ZONE] retail.orders: run SET TIME ZONE \'UTC\' first')
            WHEN order_id IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] retail.orders: order_id is NULL')
            WHEN YEAR(ordered_at) < 1 OR YEAR(ordered_at) > 9999
                THEN RAISE_ERROR('[SCDGEN_YEAR] retail.orders: a time is not in the years 1 to 9999')
            ELSE TRUE
        END
),
ranked AS (
    -- The rows of each key.
    SELECT
        *,
        STRUCT(customer_id, ordered_at, amount)
            <=> FIRST_VALUE(STRUCT(customer_id, ordered_at, amount)) OVER ties
            AS _scd_agrees,
        ROW_NUMBER() OVER by_key AS _scd_row
    FROM changes
    WINDOW
        by_key AS (PARTITION BY order_id ORDER BY order_id),
        ties AS (
            PARTITION BY order_id ORDER BY order_id
            RANGE BETWEEN CURRENT ROW AND CURRENT ROW
        )
),
latest AS (
    -- One row per key; two rows that contradict each other stop the statement.
    SELECT
        order_id, customer_id, ordered_at, amount
    FROM ranked
    WHERE
        CASE
            WHEN _scd_agrees THEN _scd_row = 1
            ELSE RAISE_ERROR(
                '[SCDGEN_CONFLICT] retail.orders: two different rows of one key: '
                || TO_JSON(STRUCT(order_id))
            )
        END
)
SELECT
    CASE
        WHEN t.order_id IS NOT NULL
            AND NOT (
                STRUCT(t.customer_id, t.ordered_at, t.amount)
                    <=> STRUCT(s.customer_id, s.ordered_at, s.amount)
            ) THEN 'changed'
        WHEN t.order_id IS NULL THEN 'new'
        ELSE 'unchanged'
    END AS _scd_action,
    s.order_id,
    IF(
        t.order_id IS NOT NULL,
        STRUCT(t.order_id, t.customer_id, t.ordered_at, t.amount),
        NULL
    ) AS _scd_old,
    STRUCT(s.order_id, s.customer_id, s.ordered_at, s.amount) AS _scd_new
FROM latest AS s
FULL OUTER JOIN (SELECT 1 WHERE FALSE) ON TRUE -- adds no row; without it, planning time doubles with each column
LEFT JOIN retail.orders AS t
    ON t.order_id = s.order_id;

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
            FROM retail.orders
        ) AS current_keys
    FROM _scd_plan
);

-- Some rows of each action; a value that would change is shown as `old -> new`.
SELECT
    _scd_action AS change,
    order_id,
    ARRAY_JOIN(
        ARRAY_DISTINCT(ARRAY(CAST(_scd_old.customer_id AS STRING), CAST(_scd_new.customer_id AS STRING))),
        ' -> ', 'NULL'
    ) AS customer_id,
    ARRAY_JOIN(
        ARRAY_DISTINCT(ARRAY(CAST(_scd_old.ordered_at AS STRING), CAST(_scd_new.ordered_at AS STRING))),
        ' -> ', 'NULL'
    ) AS ordered_at,
    ARRAY_JOIN(
        ARRAY_DISTINCT(ARRAY(CAST(_scd_old.amount AS STRING), CAST(_scd_new.amount AS STRING))),
        ' -> ', 'NULL'
    ) AS amount
FROM (
    SELECT
        _scd_action, order_id,
        COALESCE(_scd_old, _scd_new) AS _scd_old,
        COALESCE(_scd_new, _scd_old) AS _scd_new,
        ROW_NUMBER() OVER (PARTITION BY _scd_action ORDER BY order_id) AS _scd_row
    FROM _scd_plan
    WHERE _scd_action <> 'unchanged'
)
WHERE _scd_row <= 5
ORDER BY order_id, _scd_action;
