-- `crm`.`customer`
-- Merges a batch of changes into the versions of its keys, in any order; the same batch again changes nothing.
-- Made from specs/customer.yml; do not edit: change the spec and run `scdgen generate`.

-- What bounds the read of the target: files outside of it are skipped.
DECLARE OR REPLACE VARIABLE _scd_batch_from TIMESTAMP;

SET VARIABLE _scd_batch_from = (
    SELECT MIN(CAST(changed_at AS TIMESTAMP))
    FROM `crm`.`customer_updates`
);

MERGE INTO `crm`.`customer` AS t USING (
    WITH changes AS (
        -- The source's rows, in the names and types of the table.
        SELECT
            COALESCE(CAST(`id` AS INT), RAISE_ERROR('[SCDGEN_NULL_KEY] crm.customer: the key id is NULL in a source row; mend the source or set bad_rows: skip')) AS `id`,
            CAST(`name` AS STRING) AS `name`,
            CAST(`address` AS STRING) AS `address`,
            COALESCE(CAST(changed_at AS TIMESTAMP), RAISE_ERROR('[SCDGEN_NULL_TIME] crm.customer: effective_at is NULL in a source row; mend the source or set bad_rows: skip')) AS _scd_at
        FROM `crm`.`customer_updates`
    ),
    timeline AS (
        -- The changes (rank 1) beside what is stored of their keys: a version's start (2), and its end as a delete (3).
        SELECT
            `id`, `name`, `address`, _scd_at, FALSE AS _scd_deleted, NULL AS _scd_until,
            IF(_scd_at >= _scd_batch_from, 1, RAISE_ERROR('[SCDGEN_SOURCE_CHANGED] crm.customer: the source got rows while it was read; run again')) AS _scd_rank
        FROM changes
        UNION ALL
        SELECT t.`id`, t.`name`, t.`address`, _scd_at, _scd_deleted, t.`valid_to`, _scd_rank
        FROM `crm`.`customer` AS t
        LEFT SEMI JOIN changes AS c ON t.`id` = c.`id`
            LATERAL VIEW STACK(2, t.`valid_from`, FALSE, 2, t.`valid_to`, TRUE, 3) p AS _scd_at, _scd_deleted, _scd_rank
        WHERE (t.`valid_to` IS NULL OR t.`valid_to` >= _scd_batch_from) AND _scd_at IS NOT NULL
        DISTRIBUTE BY `id`
    ),
    ranked AS (
        -- Of the rows of one key and time the first counts: a change before what is stored.
        SELECT
            *,
            CASE
                WHEN RANK() OVER w = 1 AND NOT (FIRST_VALUE(STRUCT(`name`, `address`)) OVER w <=> STRUCT(`name`, `address`))
                    THEN RAISE_ERROR(CONCAT('[SCDGEN_CONFLICT] crm.customer: two different rows of one key and time, such as ', TO_JSON(STRUCT(`id`, _scd_at)), '; mend the source, order them by source.sequence_by or set conflicts: any'))
                ELSE ROW_NUMBER() OVER w
            END AS _scd_row,
            FIRST_VALUE(CASE WHEN _scd_rank = 2 THEN STRUCT(`name`, `address`, _scd_until AS _scd_next) END) IGNORE NULLS OVER (PARTITION BY `id`, _scd_at) AS _scd_stored
        FROM timeline
        WINDOW w AS (PARTITION BY `id`, _scd_at ORDER BY _scd_rank)
    ),
    points AS (
        -- One point per key and time. It opens a version where it differs from the state before it.
        SELECT
            *,
            NOT _scd_deleted AND NOT (LAG(STRUCT(_scd_deleted, `name`, `address`)) OVER w <=> STRUCT(_scd_deleted, `name`, `address`)) AS _scd_opens
        FROM ranked WHERE _scd_row = 1 WINDOW w AS (PARTITION BY `id` ORDER BY _scd_at)
    ),
    staged AS (
        -- What has to change in the table, NULL where nothing has. A version lasts until the next or a delete of its key.
        SELECT
            LEAD(CASE WHEN _scd_opens OR _scd_deleted THEN _scd_at END) IGNORE NULLS OVER (PARTITION BY `id` ORDER BY _scd_at) AS _scd_next,
            CASE
                WHEN _scd_opens AND _scd_stored IS NULL THEN 'open'
                WHEN NOT _scd_opens AND _scd_stored IS NOT NULL THEN 'fold'
                WHEN _scd_opens AND NOT (_scd_stored <=> STRUCT(`name`, `address`, _scd_next))
                    THEN IF(_scd_stored._scd_next IS NULL AND _scd_next IS NOT NULL, 'close', 'correct')
            END AS _scd_action,
            `id`, `name`, `address`, _scd_at AS `valid_from`, _scd_next AS `valid_to`, _scd_next IS NULL AS `is_current`
        FROM points
    )
    SELECT * FROM staged WHERE _scd_action IS NOT NULL
) AS s
    -- A version is known by its key and its start.
    ON t.`id` = s.`id` AND t.`valid_from` = s.`valid_from` AND (t.`valid_to` IS NULL OR t.`valid_to` >= _scd_batch_from)
-- A stored version that opens nothing any more: another row stands in its place.
WHEN MATCHED AND s._scd_action = 'fold' THEN DELETE
-- A stored version that ends otherwise, or holds other values.
WHEN MATCHED THEN
    UPDATE SET `name` = s.`name`, `address` = s.`address`, `valid_to` = s.`valid_to`, `is_current` = s.`is_current`
-- A new version.
WHEN NOT MATCHED THEN
    INSERT (`id`, `name`, `address`, `valid_from`, `valid_to`, `is_current`)
    VALUES (s.`id`, s.`name`, s.`address`, s.`valid_from`, s.`valid_to`, s.`is_current`);
