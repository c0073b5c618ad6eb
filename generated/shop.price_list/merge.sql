-- shop.price_list: Price history, from a nightly list that also announces future prices
-- Compares a full extract with the current versions: a new or returning key opens a version, a changed key closes its
-- version and opens another, a missing key closes its version. A version that begins after the extract is withdrawn if
-- its key is missing or has another time. Load extracts in the order of their times. Stops and writes nothing if a key
-- is NULL, rows of one key differ, the extract is empty, more than 20 % of the keys would be deleted, a row is older
-- than the open version of its key, or a version to close is not older than the extract. The same extract again changes
-- nothing.
-- Generated from specs/price_list.yml. To change it, edit the spec and run `scdgen generate`.
-- Set before this runs: DECLARE OR REPLACE VARIABLE taken TIMESTAMP DEFAULT ...;

-- When the extract was taken.
DECLARE OR REPLACE VARIABLE _scd_taken_at TIMESTAMP;

SET VARIABLE _scd_taken_at = COALESCE(
    CAST(session.taken AS TIMESTAMP),
    RAISE_ERROR('[SCDGEN_NULL_TIME] shop.price_list: snapshot.taken_at is NULL')
);

-- The batch affects no version that ended before this, so that Delta skips their files.
DECLARE OR REPLACE VARIABLE _scd_batch_from TIMESTAMP;

SET VARIABLE _scd_batch_from = (
    SELECT LEAST(MIN(CAST(valid_from AS TIMESTAMP)), _scd_taken_at)
    FROM shop.price_list_extract
);

MERGE INTO shop.price_list AS t USING (
    WITH source_rows AS (
        -- The source's rows, with the target's column names and types.
        SELECT
            CAST(product_id AS BIGINT) AS product_id,
            CAST(price AS DECIMAL(10, 2)) AS price,
            CAST(currency AS STRING) AS currency,
            CAST(valid_from AS TIMESTAMP) AS _scd_at
        FROM shop.price_list_extract
    ),
    extract AS (
        -- A row that breaks a rule stops the statement, as does a session that would read values differently.
        -- EXPLODE keeps Spark from testing rows that the source's own filters drop.
        SELECT *
        FROM source_rows
            LATERAL VIEW EXPLODE(ARRAY(TRUE)) p AS _scd_kept
        WHERE CASE
            WHEN NOT _scd_kept THEN FALSE
            WHEN TYPEOF(COALESCE(1, '')) = 'string' OR TYPEOF(CAST(NULL AS TIMESTAMP)) <> 'timestamp'
                THEN RAISE_ERROR('[SCDGEN_SETTINGS] shop.price_list: needs ANSI mode and TIMESTAMP_LTZ')
            WHEN CURRENT_TIMEZONE() NOT IN ('UTC', 'Etc/UTC', 'GMT')
                THEN RAISE_ERROR('[SCDGEN_TIME_ZONE] shop.price_list: run SET TIME ZONE \'UTC\' first')
            WHEN product_id IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] shop.price_list: product_id is NULL')
            WHEN YEAR(_scd_at) < 1 OR YEAR(_scd_at) > 9999
                THEN RAISE_ERROR('[SCDGEN_YEAR] shop.price_list: a time is not in the years 1 to 9999')
            WHEN _scd_at IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_TIME] shop.price_list: valid_from is NULL')
            WHEN _scd_at >= _scd_batch_from THEN TRUE
            ELSE RAISE_ERROR('[SCDGEN_SOURCE_CHANGED] shop.price_list: the source changed during the run')
        END
        UNION ALL
        -- An empty extract would delete every key, so it stops the statement.
        SELECT RAISE_ERROR('[SCDGEN_EMPTY_SNAPSHOT] shop.price_list: the snapshot is empty'), NULL, NULL, NULL, NULL
        WHERE NOT EXISTS (SELECT 1 FROM source_rows)
        DISTRIBUTE BY product_id -- one shuffle for the window and the join
    ),
    ranked AS (
        -- Exact copies of a row count once.
        -- A window must have an order; any will do.
        SELECT *, LAG(STRUCT(price, currency, _scd_at)) OVER by_key AS _scd_before
        FROM extract
        WINDOW by_key AS (PARTITION BY product_id ORDER BY product_id)
    ),
    snapshot AS (
        -- One row per key; two rows that contradict each other stop the statement.
        SELECT *
        FROM ranked
        WHERE CASE
            WHEN _scd_before IS NULL THEN TRUE
            WHEN _scd_before <=> STRUCT(price, currency, _scd_at) THEN FALSE
            ELSE RAISE_ERROR(
                '[SCDGEN_CONFLICT] shop.price_list: two different rows of one key: ' || TO_JSON(STRUCT(product_id))
            )
        END
    ),
    stored AS (
        -- Open versions, and those that ended at the time of this extract or later, as when it is loaded again.
        SELECT
            t.product_id,
            t.price,
            t.currency,
            t.valid_from AS _scd_from,
            NULLIF(t.valid_to, LAG(t._scd_begins) OVER newest_first) AS _scd_until,
            COALESCE(t.valid_to = LAG(t._scd_begins) OVER newest_first, FALSE) AS _scd_reopens,
            COALESCE(t._scd_begins, LAG(t._scd_begins) OVER newest_first) AS _scd_announced,
            LEAD(t.valid_from) OVER newest_first IS NULL AS _scd_alone,
            LEAD(STRUCT(t.price, t.currency, t.valid_from AS _scd_from, t.valid_to AS _scd_until))
                OVER newest_first AS _scd_prior,
            ROW_NUMBER() OVER newest_first = 1 AS _scd_newest
        FROM (
            -- _scd_begins: it has not begun when the extract was taken.
            SELECT
                t.*,
                CASE WHEN t.valid_from > _scd_taken_at AND t.valid_to IS NULL THEN t.valid_from END AS _scd_begins
            FROM shop.price_list AS t
        ) AS t
        WHERE t.valid_to IS NULL OR t.valid_to >= _scd_batch_from
        WINDOW newest_first AS (PARTITION BY t.product_id ORDER BY t.valid_from DESC)
    ),
    compared AS (
        -- Only keys that differ: missing from the extract, new, changed, or back again.
        SELECT
            COALESCE(n.product_id, o.product_id) AS product_id,
            n.price,
            n.currency,
            COALESCE(n._scd_at, _scd_taken_at) AS _scd_at,
            o._scd_from,
            o._scd_until,
            o._scd_newest,
            _scd_again,
            -- How many keys are deleted. Only their rows pass through one task.
            COUNT_IF(n.product_id IS NULL AND o._scd_newest)
                OVER (PARTITION BY CASE WHEN n.product_id IS NOT NULL THEN STRUCT(n.product_id) END) AS _scd_closing,
            n.product_id IS NULL AS _scd_gone,
            CASE
                -- Announced, and not so any more: it is removed. The version before it has a row of its own.
                WHEN _scd_withdrawn
                    THEN IF(n.product_id IS NULL OR NOT o._scd_alone, ARRAY('fold'), ARRAY('fold', 'open'))
                -- Missing: its version ends.
                WHEN n.product_id IS NULL THEN ARRAY('close')
                -- No version, or its last one ended before this row.
                WHEN o.product_id IS NULL OR o._scd_until < n._scd_at THEN ARRAY('open')
                WHEN o._scd_reopens AND STRUCT(n.price, n.currency) <=> STRUCT(o.price, o.currency) THEN ARRAY('reopen')
                WHEN _scd_again IS NOT NULL THEN ARRAY('correct', 'fold')
                WHEN STRUCT(n.price, n.currency) <=> STRUCT(o.price, o.currency) THEN ARRAY('correct')
                -- Its last version ended at this time or later, and differs.
                WHEN o._scd_until IS NOT NULL THEN ARRAY('open')
                -- The row has the start of the open version: it replaces the values.
                WHEN n._scd_at = o._scd_from THEN ARRAY('correct')
                ELSE ARRAY('close', 'open')
            END AS _scd_actions
        FROM snapshot AS n
        FULL OUTER JOIN (SELECT * FROM stored WHERE _scd_newest OR _scd_announced IS NOT NULL) AS o
            ON n.product_id = o.product_id
            LATERAL VIEW STACK(
                1,
                -- An announced version that the extract does not have.
                o._scd_newest AND o._scd_announced IS NOT NULL AND NOT n._scd_at <=> o._scd_announced,
                -- The version before the open one, if the row gives that one its values again.
                CASE
                    WHEN o._scd_until IS NULL
                        AND n._scd_at = o._scd_from
                        AND o._scd_prior._scd_until = o._scd_from
                        AND STRUCT(o._scd_prior.price AS price, o._scd_prior.currency AS currency)
                            <=> STRUCT(n.price, n.currency)
                        THEN STRUCT(o._scd_prior._scd_from)
                END
            ) p AS _scd_withdrawn, _scd_again
        WHERE CASE
            -- Withdrawn, which is kept; or before a version that the extract still has, which is left out.
            WHEN o._scd_announced IS NOT NULL AND o._scd_newest <> (n._scd_at <=> o._scd_announced) THEN o._scd_newest
            WHEN n.product_id IS NULL THEN o._scd_until IS NULL
            WHEN o.product_id IS NULL OR o._scd_until IS NOT NULL THEN TRUE
            WHEN STRUCT(n.price, n.currency) <=> STRUCT(o.price, o.currency) THEN o._scd_reopens
            WHEN n._scd_at < o._scd_from
                THEN RAISE_ERROR(
                    '[SCDGEN_LATE] shop.price_list: a late row: ' || TO_JSON(STRUCT(n.product_id, n._scd_at))
                )
            ELSE TRUE
        END
    ),
    versions AS (
        -- A corrected version that equals the one before it is folded into that one; a withdrawn one is removed.
        -- A changed key closes a version and opens another.
        -- Closing a version that is too new, or too many keys, stops the run.
        SELECT
            *,
            CASE
                WHEN _scd_action = 'open' THEN GREATEST(_scd_at, _scd_until)
                WHEN _scd_action = 'correct' AND _scd_again IS NOT NULL THEN _scd_again._scd_from
                ELSE _scd_from
            END AS _scd_start,
            CASE WHEN _scd_action = 'close' THEN _scd_at END AS _scd_next
        FROM compared
        CROSS JOIN (SELECT COUNT(*) AS _scd_current FROM shop.price_list AS t WHERE t.valid_to IS NULL)
            LATERAL VIEW EXPLODE(_scd_actions) p AS _scd_action
        WHERE CASE
            WHEN _scd_action = 'close' AND _scd_at <= _scd_from
                THEN RAISE_ERROR(
                    '[SCDGEN_TAKEN_AT] shop.price_list: the snapshot is not newer than a version that it closes: '
                        || TO_JSON(STRUCT(product_id, _scd_from))
                )
            WHEN _scd_closing > 0.2 * _scd_current
                THEN RAISE_ERROR(
                    '[SCDGEN_MAX_DELETED] shop.price_list: '
                        || _scd_closing
                        || IF(_scd_closing = 1, ' key', ' keys')
                        || ' deleted ('
                        || ROUND(100 * _scd_closing / _scd_current, 1)
                        || ' %; limit 20 %)'
                )
            ELSE TRUE
        END
    ),
    staged AS (
        -- Rows to write, with their history columns.
        SELECT
            _scd_action,
            product_id,
            price,
            currency,
            _scd_start AS valid_from,
            _scd_next AS valid_to,
            _scd_next IS NULL AS is_current
        FROM versions
    )
    SELECT * FROM staged
) AS s
    -- A key and a start identify a version; the rest lets Delta skip files.
    ON t.product_id = s.product_id
        AND t.valid_from = s.valid_from
        AND (t.valid_to IS NULL OR t.valid_to >= _scd_batch_from)
-- Redundant: a correction has given it the values of the version before it. Or announced, and withdrawn by the extract.
WHEN MATCHED AND s._scd_action = 'fold' THEN DELETE
-- The version of a missing or changed key, or one that is open again: only its end is written.
WHEN MATCHED AND s._scd_action IN ('close', 'reopen') THEN UPDATE SET valid_to = s.valid_to, is_current = s.is_current
-- A version whose values are corrected, or that is open again: its key is back, or the one after it is redundant.
WHEN MATCHED THEN UPDATE SET price = s.price, currency = s.currency, valid_to = s.valid_to, is_current = s.is_current
-- A version that is not stored yet.
WHEN NOT MATCHED THEN
    INSERT (product_id, price, currency, valid_from, valid_to, is_current)
    VALUES (s.product_id, s.price, s.currency, s.valid_from, s.valid_to, s.is_current);
