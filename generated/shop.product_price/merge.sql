-- shop.product_price: The newest price of each product (type 1)
-- Keeps one row per key, with the values of its newest change. A delete removes the row of its key. A row from before a
-- delete that comes in a later batch brings the key back. Stops and writes nothing if a key or time is NULL, or rows of
-- one key, time and sequence differ.
-- Generated from specs/product_price.yml. To change it, edit the spec and run `scdgen generate`.

MERGE INTO shop.product_price AS t USING (
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
        FROM source_rows
            LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
        WHERE CASE
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
                PARTITION BY product_id
                ORDER BY _scd_at DESC, _scd_sequence_1 DESC
                RANGE BETWEEN CURRENT ROW AND CURRENT ROW
            )
    ),
    latest AS (
        -- One row per key; two rows that contradict each other stop the statement.
        SELECT product_id, name, price, _scd_at AS updated_at, _scd_deleted
        FROM ranked
        WHERE CASE
            WHEN _scd_agrees THEN _scd_row = 1
            ELSE RAISE_ERROR(
                '[SCDGEN_CONFLICT] shop.product_price: two different rows of one key and time: '
                    || TO_JSON(STRUCT(product_id, _scd_at))
            )
        END
    )
    SELECT * FROM latest
) AS s
    -- A key identifies a row.
    ON t.product_id = s.product_id
-- A delete removes the row.
WHEN MATCHED AND s._scd_deleted AND s.updated_at >= t.updated_at THEN DELETE
-- A row with other values.
WHEN MATCHED
    AND NOT s._scd_deleted
    AND s.updated_at >= t.updated_at
    AND NOT (STRUCT(t.name, t.price, t.updated_at) <=> STRUCT(s.name, s.price, s.updated_at))
    THEN
    UPDATE SET name = s.name, price = s.price, updated_at = s.updated_at
-- A new key.
WHEN NOT MATCHED AND NOT s._scd_deleted THEN
    INSERT (product_id, name, price, updated_at)
    VALUES (s.product_id, s.name, s.price, s.updated_at);
