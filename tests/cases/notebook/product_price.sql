-- Databricks notebook source
-- MAGIC %md
-- MAGIC # `shop.product_price`
-- MAGIC
-- MAGIC `The newest price of each product (type 1), whatever the order in which prices arrive`
-- MAGIC
-- MAGIC Made from `specs/product_price.yml`; do not edit: change the spec and run `scdgen generate`.

-- COMMAND ----------

-- MAGIC %md
-- MAGIC ## create
-- MAGIC
-- MAGIC Creates the table if it does not exist.

-- COMMAND ----------

-- `shop`.`product_price`: The newest price of each product (type 1), whatever the order in which prices arrive
-- Makes the table where there is none.
-- Made from specs/product_price.yml; do not edit: change the spec and run `scdgen generate`.

CREATE SCHEMA IF NOT EXISTS `shop`;

-- COMMAND ----------

CREATE TABLE IF NOT EXISTS `shop`.`product_price` (
    `product_id` BIGINT NOT NULL,
    `name` STRING,
    `price` DECIMAL(10, 2),
    `updated_at` TIMESTAMP COMMENT 'Effective time of the newest change'
)
USING DELTA
COMMENT 'The newest price of each product (type 1), whatever the order in which prices arrive'
TBLPROPERTIES (
    'delta.enableDeletionVectors' = 'true',
    'scdgen.pattern' = 'scd1',
    'scdgen.keys' = '["product_id"]'
);

-- COMMAND ----------

-- MAGIC %md
-- MAGIC ## merge
-- MAGIC
-- MAGIC Changes the table. Run the cells in order: they share session variables.

-- COMMAND ----------

-- `shop`.`product_price`: The newest price of each product (type 1), whatever the order in which prices arrive
-- Keeps one row per key: the newest change.
-- Made from specs/product_price.yml; do not edit: change the spec and run `scdgen generate`.

MERGE INTO `shop`.`product_price` AS t USING (
    WITH changes AS (
        -- The source's rows, in the names and types of the table.
        SELECT
            COALESCE(CAST(`product_id` AS BIGINT), RAISE_ERROR('[SCDGEN_NULL_KEY] shop.product_price: the key product_id is NULL in a source row; mend the source or set bad_rows: skip')) AS `product_id`,
            CAST(`name` AS STRING) AS `name`,
            CAST(`price` AS DECIMAL(10, 2)) AS `price`,
            COALESCE(CAST(changed_at AS TIMESTAMP), RAISE_ERROR('[SCDGEN_NULL_TIME] shop.product_price: effective_at is NULL in a source row; mend the source or set bad_rows: skip')) AS _scd_at,
            COALESCE(action = 'discontinued', FALSE) AS _scd_deleted,
            change_id AS _scd_sequence_1
        FROM `shop`.`price_changes`
    ),
    ranked AS (
        -- Of the rows of one key the newest counts.
        SELECT
            *,
            FIRST_VALUE(STRUCT(_scd_deleted, `name`, `price`)) OVER ties AS _scd_first,
            ROW_NUMBER() OVER w AS _scd_row
        FROM changes
        WINDOW
            w AS (PARTITION BY `product_id` ORDER BY _scd_at DESC, _scd_sequence_1 DESC),
            ties AS (PARTITION BY `product_id` ORDER BY _scd_at DESC, _scd_sequence_1 DESC RANGE BETWEEN CURRENT ROW AND CURRENT ROW)
    ),
    latest AS (
        -- One row per key.
        SELECT
            `product_id`,
            `name`,
            `price`,
            _scd_at AS `updated_at`,
            _scd_deleted
        FROM ranked
        WHERE
            CASE
                WHEN NOT (_scd_first <=> STRUCT(_scd_deleted, `name`, `price`) OR (_scd_deleted AND _scd_first._scd_deleted))
                    THEN RAISE_ERROR(CONCAT('[SCDGEN_CONFLICT] shop.product_price: two different rows of one key and time, such as ', TO_JSON(STRUCT(`product_id`, _scd_at)), '; mend the source, order them by source.sequence_by or set conflicts: any'))
                ELSE _scd_row = 1
            END
    )
    SELECT * FROM latest
) AS s
    -- A row is known by its key.
    ON t.`product_id` = s.`product_id`
-- A delete removes the row.
WHEN MATCHED AND s._scd_deleted AND s.`updated_at` >= t.`updated_at` THEN
    DELETE
-- A row that holds other values.
WHEN MATCHED
AND NOT s._scd_deleted
AND s.`updated_at` >= t.`updated_at`
AND NOT (STRUCT(t.`name`, t.`price`, t.`updated_at`) <=> STRUCT(s.`name`, s.`price`, s.`updated_at`)) THEN
    UPDATE SET `name` = s.`name`, `price` = s.`price`, `updated_at` = s.`updated_at`
-- A new key.
WHEN NOT MATCHED AND NOT s._scd_deleted THEN
    INSERT (`product_id`, `name`, `price`, `updated_at`)
    VALUES (s.`product_id`, s.`name`, s.`price`, s.`updated_at`);

-- COMMAND ----------

-- MAGIC %md
-- MAGIC ## checks
-- MAGIC
-- MAGIC A query per check: no rows is good.

-- COMMAND ----------

-- `shop`.`product_price`: The newest price of each product (type 1), whatever the order in which prices arrive
-- Integrity checks: each query returns the rows that break its rule, so no rows is good.
-- Made from specs/product_price.yml; do not edit: change the spec and run `scdgen generate`.

-- unique_key: one row per key.
SELECT
    t.`product_id`,
    COUNT(*) AS row_count
FROM `shop`.`product_price` AS t
GROUP BY t.`product_id`
HAVING COUNT(*) > 1;

-- COMMAND ----------

-- key_not_null: no key is NULL.
SELECT *
FROM `shop`.`product_price` AS t
WHERE t.`product_id` IS NULL;
