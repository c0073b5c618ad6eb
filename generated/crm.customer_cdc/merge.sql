-- `crm`.`customer_cdc`: Customers, from a change feed with deletes; an update comes as a delete and an insert of one time
-- Merges a batch of changes into the versions of its keys, in any order; the same batch again changes nothing.
-- Made from specs/customer_cdc.yml; do not edit: change the spec and run `scdgen generate`.

-- What bounds the read of the target: files outside of it are skipped.
DECLARE OR REPLACE VARIABLE _scd_batch_from TIMESTAMP;

SET VARIABLE _scd_batch_from = (
    SELECT MIN(CAST(changed_at AS TIMESTAMP))
    FROM `crm`.`customer_feed`
);

MERGE INTO `crm`.`customer_cdc` AS t USING (
    WITH changes AS (
        -- The source's rows, in the names and types of the table.
        SELECT
            COALESCE(CAST(`company` AS STRING), RAISE_ERROR('[SCDGEN_NULL_KEY] crm.customer_cdc: the key company is NULL in a source row; mend the source or set bad_rows: skip')) AS `company`,
            COALESCE(CAST(`customer_no` AS STRING), RAISE_ERROR('[SCDGEN_NULL_KEY] crm.customer_cdc: the key customer_no is NULL in a source row; mend the source or set bad_rows: skip')) AS `customer_no`,
            CAST(`name` AS STRING) AS `name`,
            CAST(`city` AS STRING) AS `city`,
            COALESCE(CAST(changed_at AS TIMESTAMP), RAISE_ERROR('[SCDGEN_NULL_TIME] crm.customer_cdc: effective_at is NULL in a source row; mend the source or set bad_rows: skip')) AS _scd_at,
            COALESCE(op = 'D', FALSE) AS _scd_deleted,
            lsn AS _scd_sequence_1
        FROM `crm`.`customer_feed`
    ),
    timeline AS (
        -- The changes (rank 1) beside what is stored of their keys: a version's start (2), and its end as a delete (3).
        SELECT
            `company`,
            `customer_no`,
            `name`,
            `city`,
            _scd_at,
            _scd_deleted,
            _scd_sequence_1,
            NULL AS _scd_until,
            NULL AS `action`,
            IF(_scd_at >= _scd_batch_from, 1, RAISE_ERROR('[SCDGEN_SOURCE_CHANGED] crm.customer_cdc: the source got rows while it was read; run again')) AS _scd_rank
        FROM changes
        UNION ALL
        SELECT
            t.`company`,
            t.`customer_no`,
            t.`name`,
            t.`city`,
            _scd_at,
            _scd_deleted,
            NULL,
            t.`valid_to`,
            t.`action`,
            _scd_rank
        FROM `crm`.`customer_cdc` AS t
        LEFT SEMI JOIN changes AS c ON t.`company` = c.`company` AND t.`customer_no` = c.`customer_no`
            LATERAL VIEW STACK(2, t.`valid_from`, FALSE, 2, t.`valid_to`, TRUE, 3) p AS _scd_at, _scd_deleted, _scd_rank
        WHERE _scd_at IS NOT NULL
        DISTRIBUTE BY `company`, `customer_no`
    ),
    ranked AS (
        -- Of the rows of one key and time the first counts: a change before what is stored, the greatest lsn wins.
        SELECT
            *,
            CASE
                WHEN RANK() OVER w = 1 AND NOT (FIRST_VALUE(STRUCT(_scd_deleted, `name`, `city`)) OVER w <=> STRUCT(_scd_deleted, `name`, `city`) OR (_scd_deleted AND FIRST_VALUE(_scd_deleted) OVER w))
                    THEN RAISE_ERROR(CONCAT('[SCDGEN_CONFLICT] crm.customer_cdc: two different rows of one key and time, such as ', TO_JSON(STRUCT(`company`, `customer_no`, _scd_at)), '; mend the source, order them by source.sequence_by or set conflicts: any'))
                ELSE ROW_NUMBER() OVER w
            END AS _scd_row,
            FIRST_VALUE(CASE WHEN _scd_rank = 2 THEN STRUCT(`name`, `city`, `action`, _scd_until AS _scd_next) END) IGNORE NULLS OVER (PARTITION BY `company`, `customer_no`, _scd_at) AS _scd_stored
        FROM timeline
        WINDOW w AS (PARTITION BY `company`, `customer_no`, _scd_at ORDER BY _scd_rank ASC, _scd_sequence_1 DESC)
    ),
    points AS (
        -- One point per key and time. It opens a version where it differs from the state before it.
        SELECT
            *,
            NOT _scd_deleted AND NOT (LAG(STRUCT(_scd_deleted, `name`, `city`)) OVER w <=> STRUCT(_scd_deleted, `name`, `city`)) AS _scd_opens
        FROM ranked WHERE _scd_row = 1 WINDOW w AS (PARTITION BY `company`, `customer_no` ORDER BY _scd_at)
    ),
    versions AS (
        -- A version lasts until the next version or delete of its key.
        SELECT
            *,
            COALESCE(LAG(_scd_deleted) OVER w, TRUE) AS _scd_begins,
            COALESCE(LEAD(CASE WHEN _scd_opens OR _scd_deleted THEN _scd_deleted END) IGNORE NULLS OVER w, FALSE) AS _scd_ends_deleted,
            LEAD(CASE WHEN _scd_opens OR _scd_deleted THEN _scd_at END) IGNORE NULLS OVER w AS _scd_next
        FROM points
        WINDOW w AS (PARTITION BY `company`, `customer_no` ORDER BY _scd_at)
    ),
    staged AS (
        -- What has to change in the table: NULL where a version is stored as it should be.
        SELECT
            CASE
                WHEN _scd_opens AND _scd_stored IS NULL THEN 'open'
                WHEN NOT _scd_opens AND _scd_stored IS NOT NULL THEN 'fold'
                WHEN _scd_opens AND NOT (_scd_stored <=> STRUCT(
                        `name`, `city`,
                        CASE WHEN _scd_ends_deleted THEN 'D' WHEN _scd_begins THEN 'I' ELSE 'U' END AS `action`,
                        _scd_next
                    ))
                    THEN IF(_scd_stored._scd_next IS NULL AND _scd_next IS NOT NULL, 'close', 'correct')
            END AS _scd_action,
            `company`,
            `customer_no`,
            `name`,
            `city`,
            _scd_at AS `valid_from`,
            _scd_next AS `valid_to`,
            _scd_next IS NULL AS `is_current`,
            CASE WHEN _scd_ends_deleted THEN 'D' WHEN _scd_begins THEN 'I' ELSE 'U' END AS `action`
        FROM versions
    )
    SELECT * FROM staged WHERE _scd_action IS NOT NULL
) AS s
    -- A version is known by its key and its start.
    ON t.`company` = s.`company`
        AND t.`customer_no` = s.`customer_no`
        AND t.`valid_from` = s.`valid_from`
        AND (t.`valid_to` IS NULL OR t.`valid_to` >= _scd_batch_from)
-- A stored version that opens nothing any more: another row stands in its place.
WHEN MATCHED AND s._scd_action = 'fold' THEN DELETE
-- A stored version that ends otherwise, or holds other values.
WHEN MATCHED THEN
    UPDATE SET
        `name` = s.`name`,
        `city` = s.`city`,
        `valid_to` = s.`valid_to`,
        `is_current` = s.`is_current`,
        `action` = s.`action`
-- A new version.
WHEN NOT MATCHED THEN
    INSERT (`company`, `customer_no`, `name`, `city`, `valid_from`, `valid_to`, `is_current`, `action`)
    VALUES (s.`company`, s.`customer_no`, s.`name`, s.`city`, s.`valid_from`, s.`valid_to`, s.`is_current`, s.`action`);
