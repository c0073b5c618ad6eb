-- shop.price_list: Price history, from a nightly list that also announces future prices
-- Compares a full extract with the current versions: a new, returning or changed key opens a version.
-- Extracts: must be loaded in the order of their times, which is not checked: an older one withdraws a newer version.
-- Rows older than the open version of their key: stop the statement if they differ from it.
-- The open version, if it begins after the extract: is withdrawn if its key is missing or has another time.
-- Rows that change nothing: open no version.
-- Missing keys: are deleted, so that their version ends.
-- Stops if: a key or time is NULL, a year is not in 1 to 9999, rows of one key differ, the extract is empty, a row
-- before the batch's first arrives during the run, over 20% of the current keys would be deleted, a version would end
-- at its start or before, or the session's settings change the result.
-- Generated from specs/price_list.yml. To change it, edit the spec and run `scdgen generate`.
-- Set before this runs: DECLARE OR REPLACE VARIABLE taken TIMESTAMP DEFAULT ...;

-- When the extract was taken.
DECLARE OR REPLACE VARIABLE _scd_taken_at TIMESTAMP;
SET VARIABLE _scd_taken_at = COALESCE(
    session.taken, RAISE_ERROR('[SCDGEN_NULL_TIME] shop.price_list: snapshot.taken_at is NULL')
);

-- The batch affects no version whose stored end is before this time, so Delta can skip their files.
DECLARE OR REPLACE VARIABLE _scd_batch_from TIMESTAMP;
SET VARIABLE _scd_batch_from = (
    SELECT LEAST(MIN(CAST(valid_from AS TIMESTAMP)), _scd_taken_at) FROM shop.price_list_extract
);

MERGE INTO shop.price_list AS t USING (
    WITH source_rows AS (
        -- The source's rows, with the target's column names and types.
        SELECT
            CAST(product_id AS BIGINT) AS product_id,
            STRUCT(CAST(price AS DECIMAL(10, 2)) AS price, CAST(currency AS STRING) AS currency) AS _scd_state,
            CAST(valid_from AS TIMESTAMP) AS _scd_at
        FROM shop.price_list_extract
    ),
    snapshot AS (
        -- One row per key. A row that breaks a rule stops the statement.
        SELECT product_id, MIN(_scd_state) AS _scd_state, MIN(_scd_at) AS _scd_given_at
        FROM source_rows
        GROUP BY product_id
        HAVING CASE
            WHEN TYPEOF(COALESCE(1, '')) = 'string' OR TYPEOF(CAST(NULL AS TIMESTAMP)) <> 'timestamp'
                THEN RAISE_ERROR('[SCDGEN_SETTINGS] shop.price_list: needs ANSI mode and TIMESTAMP_LTZ')
            WHEN CURRENT_TIMEZONE() NOT IN ('UTC', 'Etc/UTC', 'GMT')
                THEN RAISE_ERROR('[SCDGEN_TIME_ZONE] shop.price_list: run SET TIME ZONE \'UTC\' first')
            WHEN product_id IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] shop.price_list: product_id is NULL')
            WHEN BOOL_OR(YEAR(_scd_at) NOT BETWEEN 1 AND 9999)
                THEN RAISE_ERROR('[SCDGEN_YEAR] shop.price_list: year not in 1-9999')
            WHEN BOOL_OR(_scd_at IS NULL) THEN RAISE_ERROR('[SCDGEN_NULL_TIME] shop.price_list: valid_from is NULL')
            WHEN MIN(_scd_state) IS DISTINCT FROM MAX(_scd_state) OR MIN(_scd_at) IS DISTINCT FROM MAX(_scd_at)
                THEN RAISE_ERROR('[SCDGEN_CONFLICT] shop.price_list: two rows differ: ' || TO_JSON(STRUCT(product_id)))
            WHEN BOOL_AND(_scd_at >= _scd_batch_from) THEN TRUE
            ELSE RAISE_ERROR('[SCDGEN_SOURCE_CHANGED] shop.price_list: the source changed during the run')
        END
        UNION ALL
        SELECT RAISE_ERROR('[SCDGEN_EMPTY_SNAPSHOT] shop.price_list: the snapshot is empty'), NULL, NULL
        WHERE NOT EXISTS (SELECT 1 FROM source_rows)
    ),
    stored AS (
        -- _scd_to is NULL if open, or if it ends where the next begins, as that one may be withdrawn or folded.
        SELECT
            t.product_id,
            STRUCT(
                t.valid_from AS _scd_from,
                NULLIF(t.valid_to, LAG(t.valid_from) OVER newest_first) AS _scd_to,
                STRUCT(t.price, t.currency) AS _scd_state
            ) AS _scd_version,
            CASE WHEN t.valid_from > _scd_taken_at AND t.valid_to IS NULL THEN t.valid_from END AS _scd_announced
        FROM shop.price_list AS t
        WHERE t.valid_to IS NULL OR t.valid_to >= _scd_batch_from
        WINDOW newest_first AS (PARTITION BY t.product_id ORDER BY t.valid_from DESC)
    ),
    newest AS (
        -- Each version with those before it, because the newest one of a key (_scd_nth 1) may be withdrawn.
        SELECT
            *,
            LEAD(_scd_version) OVER newest_first AS _scd_second,
            LEAD(_scd_version, 2) OVER newest_first AS _scd_third,
            ROW_NUMBER() OVER newest_first AS _scd_nth
        FROM stored
        WINDOW newest_first AS (PARTITION BY product_id ORDER BY _scd_version._scd_from DESC)
    ),
    joined AS (
        -- Each key with its row and its newest version. An announced one that the extract does not have is withdrawn.
        SELECT *, _scd_state IS NULL AS _scd_gone, NULLIF(_scd_announced, _scd_given_at) AS _scd_withdrawn
        FROM snapshot
        FULL OUTER JOIN (SELECT * FROM newest WHERE _scd_nth = 1) USING (product_id)
    ),
    met AS (
        -- _scd_stored: the version that the row meets, the newest not withdrawn one; _scd_prior: the one before that.
        SELECT
            *,
            COALESCE(_scd_given_at, _scd_taken_at) AS _scd_at,
            CASE WHEN _scd_withdrawn IS NULL THEN _scd_version ELSE _scd_second END AS _scd_stored,
            CASE WHEN _scd_withdrawn IS NULL THEN _scd_second ELSE _scd_third END AS _scd_prior
        FROM joined
    ),
    decided AS (
        -- What happens to the versions of each key, besides one that is withdrawn.
        SELECT
            *,
            CASE
                -- Missing: its version ends.
                WHEN _scd_gone THEN IF(_scd_stored IS NOT NULL AND _scd_stored._scd_to IS NULL, ARRAY('close'), ARRAY())
                -- No version, or its last one ended before this row.
                WHEN _scd_stored IS NULL OR _scd_stored._scd_to < _scd_at THEN ARRAY('open')
                -- Unchanged: nothing happens; or it is open again, if it had ended or the one after it is withdrawn.
                WHEN _scd_state IS NOT DISTINCT FROM _scd_stored._scd_state
                    THEN IF(_scd_stored._scd_to IS NOT NULL OR _scd_withdrawn IS NOT NULL, ARRAY('correct'), ARRAY())
                -- Its last version ended at this time or later, and differs: a new one begins where that ended.
                WHEN _scd_stored._scd_to IS NOT NULL THEN ARRAY('open')
                WHEN _scd_at < _scd_stored._scd_from
                    THEN RAISE_ERROR('[SCDGEN_LATE] shop.price_list: a late row: '
                        || TO_JSON(STRUCT(product_id, _scd_at)))
                WHEN _scd_at > _scd_stored._scd_from THEN ARRAY('close', 'open')
                -- Replaces the open version's values; if equal to the adjacent one before, extends that, deletes this.
                WHEN _scd_prior._scd_to IS NULL AND _scd_state IS NOT DISTINCT FROM _scd_prior._scd_state
                    THEN ARRAY('extend', 'fold')
                ELSE ARRAY('correct')
            END AS _scd_actions
        FROM met
    ),
    counted AS (
        -- Keys with something to do. _scd_closing: the number of deleted keys, on each of these; 0 on the other rows.
        SELECT *, COUNT_IF(_scd_gone) OVER (PARTITION BY CASE WHEN NOT _scd_gone THEN product_id END) AS _scd_closing
        FROM decided
        WHERE SIZE(_scd_actions) > 0 OR _scd_withdrawn IS NOT NULL
    ),
    versions AS (
        -- A row per version. Closing one that is too new, or too many keys, stops the run.
        SELECT
            *,
            CASE
                WHEN _scd_action = 'open' THEN GREATEST(_scd_at, _scd_stored._scd_to)
                WHEN _scd_action = 'withdraw' THEN _scd_withdrawn
                WHEN _scd_action = 'extend' THEN _scd_prior._scd_from
                ELSE _scd_stored._scd_from
            END AS _scd_from,
            CASE WHEN _scd_action = 'close' THEN _scd_at END AS _scd_to
        FROM counted
        CROSS JOIN (SELECT COUNT(*) AS _scd_current FROM shop.price_list AS t WHERE t.valid_to IS NULL)
            LATERAL VIEW EXPLODE(
                CONCAT(_scd_actions, IF(_scd_withdrawn IS NULL, ARRAY(), ARRAY('withdraw')))
            ) p AS _scd_action
        WHERE CASE
            WHEN _scd_action = 'close' AND _scd_at <= _scd_stored._scd_from
                THEN RAISE_ERROR('[SCDGEN_TAKEN_AT] shop.price_list: the snapshot must be newer than what it closes: '
                    || TO_JSON(STRUCT(product_id, _scd_stored._scd_from)))
            WHEN _scd_closing > 0.2 * _scd_current
                THEN RAISE_ERROR('[SCDGEN_MAX_DELETED] shop.price_list: ' || _scd_closing || ' of ' || _scd_current
                    || ' keys would be deleted (limit 20%)')
            ELSE TRUE
        END
    )
    SELECT
        _scd_action, product_id, _scd_state.*, _scd_from AS valid_from, _scd_to AS valid_to,
        _scd_to IS NULL AS is_current
    FROM versions
) AS s
    -- A key and a start identify a version; the rest lets Delta skip files.
    ON t.product_id = s.product_id
        AND t.valid_from = s.valid_from
        AND (t.valid_to IS NULL OR t.valid_to >= _scd_batch_from)
-- Redundant: a correction has given it the values of the version before it. Or announced, and withdrawn by the extract.
WHEN MATCHED AND s._scd_action IN ('fold', 'withdraw') THEN DELETE
-- The open version of a missing or changed key: only its end is written.
WHEN MATCHED AND s._scd_action = 'close' THEN UPDATE SET valid_to = s.valid_to, is_current = s.is_current
-- A version whose values are corrected, or that is open again.
WHEN MATCHED THEN UPDATE SET price = s.price, currency = s.currency, valid_to = s.valid_to, is_current = s.is_current
WHEN NOT MATCHED THEN INSERT (product_id, price, currency, valid_from, valid_to, is_current)
    VALUES (s.product_id, s.price, s.currency, s.valid_from, s.valid_to, s.is_current);
