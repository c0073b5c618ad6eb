-- shop.product_price: The newest price of each product (type 1)
-- Keeps one row per key, with the values of its newest change.
-- Deletes: remove the row of their key.
-- Rows from before a delete that come in a later batch: bring the key back.
-- Stops if: a key or time is NULL, a year is not in 1 to 9999, rows tie as the newest of a key but differ, or the
-- session's settings change the result.
-- Generated from specs/product_price.yml. To change it, edit the spec and run `scdgen generate`.

MERGE INTO shop.product_price AS t USING (
    WITH source_rows AS (
        -- The source's rows, with the target's column names and types.
        SELECT
            CAST(product_id AS BIGINT) AS product_id,
            STRUCT(CAST(name AS STRING) AS name, CAST(price AS DECIMAL(10, 2)) AS price) AS _scd_state,
            CAST(changed_at AS TIMESTAMP) AS _scd_at,
            COALESCE(action = 'discontinued', FALSE) AS _scd_deleted,
            change_id AS _scd_sequence_1
        FROM shop.price_changes
    ),
    changes AS (
        -- One row per key, and per place in its order; _scd_differs: its rows differ. A broken rule stops the run.
        SELECT
            product_id, _scd_at, _scd_sequence_1,
            MIN(_scd_state) FILTER (WHERE NOT _scd_deleted) AS _scd_state,
            BOOL_OR(_scd_deleted) <> BOOL_AND(_scd_deleted)
                OR MIN(_scd_state) FILTER (WHERE NOT _scd_deleted)
                    IS DISTINCT FROM MAX(_scd_state) FILTER (WHERE NOT _scd_deleted)
                AS _scd_differs
        FROM (SELECT * FROM source_rows DISTRIBUTE BY product_id) -- one shuffle serves every step
        GROUP BY product_id, _scd_at, _scd_sequence_1
        HAVING CASE
            WHEN TYPEOF(COALESCE(1, '')) = 'string' OR TYPEOF(CAST(NULL AS TIMESTAMP)) <> 'timestamp'
                THEN RAISE_ERROR('[SCDGEN_SETTINGS] shop.product_price: needs ANSI mode and TIMESTAMP_LTZ')
            WHEN CURRENT_TIMEZONE() NOT IN ('UTC', 'Etc/UTC', 'GMT')
                THEN RAISE_ERROR('[SCDGEN_TIME_ZONE] shop.product_price: run SET TIME ZONE \'UTC\' first')
            WHEN COUNT(*) = 0 THEN FALSE -- never: without an aggregate, Spark may test rules before source filters
            WHEN product_id IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] shop.product_price: product_id is NULL')
            WHEN YEAR(_scd_at) NOT BETWEEN 1 AND 9999
                THEN RAISE_ERROR('[SCDGEN_YEAR] shop.product_price: year not in 1-9999')
            WHEN _scd_at IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_TIME] shop.product_price: changed_at is NULL')
            ELSE TRUE
        END
    )
    -- The newest row of each key; one that ties with it and differs stops the statement.
    SELECT product_id, MAX_BY(_scd_state, STRUCT(_scd_at, _scd_sequence_1)) AS _scd_state, MAX(_scd_at) AS _scd_at
    FROM changes
    GROUP BY product_id
    HAVING CASE
        WHEN MAX_BY(_scd_differs, STRUCT(_scd_at, _scd_sequence_1))
            THEN RAISE_ERROR('[SCDGEN_CONFLICT] shop.product_price: two rows differ: '
                || TO_JSON(STRUCT(product_id, MAX(_scd_at) FILTER (WHERE _scd_differs) AS _scd_at)))
        ELSE TRUE
    END
) AS s
    -- A key identifies a row.
    ON t.product_id = s.product_id
-- A delete that is not older than the stored row removes it.
WHEN MATCHED AND s._scd_state IS NULL AND s._scd_at >= t.updated_at THEN DELETE
-- A stored row that changes.
WHEN MATCHED
    AND s._scd_state IS NOT NULL
    AND s._scd_at >= t.updated_at
    AND STRUCT(s._scd_state, s._scd_at AS updated_at)
        IS DISTINCT FROM STRUCT(STRUCT(t.name, t.price) AS _scd_state, t.updated_at)
    THEN UPDATE SET name = s._scd_state.name, price = s._scd_state.price, updated_at = s._scd_at
-- A new key.
WHEN NOT MATCHED AND s._scd_state IS NOT NULL THEN INSERT (product_id, name, price, updated_at)
    VALUES (s.product_id, s._scd_state.name, s._scd_state.price, s._scd_at);
