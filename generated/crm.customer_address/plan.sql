-- `crm`.`customer_address`: One row per address of a customer
-- Shows what merge.sql would do: how much, then some of its rows. Writes nothing.
-- Made from specs/customer_address.yml; do not edit: change the spec and run `scdgen generate`.

-- What bounds the read of the target: files outside of it are skipped.
DECLARE OR REPLACE VARIABLE _scd_batch_from DATE;

SET VARIABLE _scd_batch_from = (
    SELECT MIN(CAST(start_date AS DATE))
    FROM `crm`.`customer_changes`
);

-- A row per version that the MERGE would write or remove: _scd_old is what is stored, _scd_new what it becomes.
-- And one per key of the source that needs nothing. The view belongs to the session and is gone with it.
CREATE OR REPLACE TEMPORARY VIEW _scd_plan AS
WITH changes AS (
    -- The source's rows, in the names and types of the table.
    SELECT
        COALESCE(CAST(`id` AS INT), RAISE_ERROR('[SCDGEN_NULL_KEY] crm.customer_address: the key id is NULL in a source row; mend the source or set bad_rows: skip')) AS `id`,
        CAST(`name` AS STRING) AS `name`,
        CAST(`address` AS STRING) AS `address`,
        COALESCE(CAST(start_date AS DATE), RAISE_ERROR('[SCDGEN_NULL_TIME] crm.customer_address: effective_at is NULL in a source row; mend the source or set bad_rows: skip')) AS _scd_at
    FROM `crm`.`customer_changes`
),
timeline AS (
    -- The changes (rank 1) beside what is stored of their keys: a version's start (2), and its end as a delete (3).
    SELECT
        `id`, `name`, `address`, _scd_at, FALSE AS _scd_deleted, NULL AS _scd_until,
        IF(_scd_at >= _scd_batch_from, 1, RAISE_ERROR('[SCDGEN_SOURCE_CHANGED] crm.customer_address: the source got rows while it was read; run again')) AS _scd_rank
    FROM changes
    UNION ALL
    SELECT t.`id`, t.`name`, t.`address`, _scd_at, _scd_deleted, t.`end_date`, _scd_rank
    FROM `crm`.`customer_address` AS t
    LEFT SEMI JOIN changes AS c ON t.`id` = c.`id`
        LATERAL VIEW STACK(2, t.`start_date`, FALSE, 2, t.`end_date`, TRUE, 3) p AS _scd_at, _scd_deleted, _scd_rank
    WHERE (t.`end_date` IS NULL OR t.`end_date` >= _scd_batch_from) AND _scd_at IS NOT NULL
    DISTRIBUTE BY `id`
),
ranked AS (
    -- Of the rows of one key and time the first counts: a change before what is stored.
    SELECT
        *,
        CASE
            WHEN RANK() OVER w = 1 AND NOT (FIRST_VALUE(STRUCT(`name`, `address`)) OVER w <=> STRUCT(`name`, `address`))
                THEN RAISE_ERROR(CONCAT('[SCDGEN_CONFLICT] crm.customer_address: two different rows of one key and time, such as ', TO_JSON(STRUCT(`id`, _scd_at)), '; mend the source, order them by source.sequence_by or set conflicts: any'))
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
        NOT _scd_deleted AND NOT (LAG(STRUCT(_scd_deleted, `address`)) OVER w <=> STRUCT(_scd_deleted, `address`)) AS _scd_opens
    FROM ranked WHERE _scd_row = 1 WINDOW w AS (PARTITION BY `id` ORDER BY _scd_at)
),
runs AS (
    -- Numbers the versions and the times between them, to find the newest value of an untracked column in each.
    SELECT
        *,
        COUNT_IF(_scd_opens OR _scd_deleted) OVER (PARTITION BY `id` ORDER BY _scd_at) AS _scd_run
    FROM points
),
versions AS (
    -- A version lasts until the next version or delete of its key.
    SELECT
        `id`,
        LAST_VALUE(`name`) OVER run AS `name`,
        `address`,
        _scd_at,
        _scd_opens,
        _scd_stored,
        LEAD(CASE WHEN _scd_opens OR _scd_deleted THEN _scd_at END) IGNORE NULLS OVER w AS _scd_next
    FROM runs
    WINDOW
        w AS (PARTITION BY `id` ORDER BY _scd_at),
        run AS (
            PARTITION BY `id`, _scd_run ORDER BY _scd_at
            ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
        )
),
staged AS (
    -- What has to change in the table: NULL where a version is stored as it should be.
    SELECT
        CASE
            WHEN _scd_opens AND _scd_stored IS NULL THEN 'open'
            WHEN NOT _scd_opens AND _scd_stored IS NOT NULL THEN 'fold'
            WHEN _scd_opens AND NOT (_scd_stored <=> STRUCT(`name`, `address`, _scd_next))
                THEN IF(_scd_stored._scd_next IS NULL AND _scd_next IS NOT NULL, 'close', 'correct')
        END AS _scd_action,
        `id`, `name`, `address`, _scd_at AS `start_date`, _scd_next AS `end_date`, _scd_next IS NULL AS `is_current`
    FROM versions
)
SELECT
    COALESCE(_scd_action, 'unchanged') AS _scd_action,
    `id`,
    _scd_start,
    _scd_old,
    _scd_new,
    -- It begins before the newest start or delete that is stored of its key.
    COALESCE(_scd_start < _scd_newest, FALSE) AS _scd_late,
    -- The current version of a key, which ends; and whether the key is gone by that.
    _scd_current AND (_scd_action <=> 'close' OR NOT _scd_stays) AS _scd_closes,
    _scd_current AND NOT _scd_stays AS _scd_deletes
FROM (
    SELECT
        s._scd_action,
        s.`id`,
        s.`start_date` AS _scd_start,
        CASE WHEN t.`id` IS NOT NULL THEN STRUCT(t.`id`, t.`name`, t.`address`, t.`start_date`, t.`end_date`, t.`is_current`) END AS _scd_old,
        CASE WHEN s._scd_action <> 'fold' THEN STRUCT(s.`id`, s.`name`, s.`address`, s.`start_date`, s.`end_date`, s.`is_current`) END AS _scd_new,
        MAX(GREATEST(t.`start_date`, t.`end_date`)) OVER k AS _scd_newest,
        COUNT(s._scd_action) OVER k = 0 AND ROW_NUMBER() OVER v = 1 AS _scd_idle,
        t.`id` IS NOT NULL AND t.`end_date` IS NULL AS _scd_current,
        COALESCE(BOOL_OR(CASE
            WHEN s._scd_action IS NULL THEN t.`id` IS NOT NULL AND t.`end_date` IS NULL
            WHEN s._scd_action <> 'fold' THEN s.`end_date` IS NULL
        END) OVER k, FALSE) AS _scd_stays
    FROM staged AS s
    LEFT JOIN `crm`.`customer_address` AS t
        ON t.`id` = s.`id`
            AND t.`start_date` = s.`start_date`
            AND (t.`end_date` IS NULL OR t.`end_date` >= _scd_batch_from)
    WINDOW
        k AS (PARTITION BY s.`id`),
        v AS (PARTITION BY s.`id` ORDER BY s.`start_date`)
)
WHERE _scd_action IS NOT NULL OR _scd_idle;

-- How much: versions per action, keys that would be gone (delete) or need nothing, and keys that are current.
SELECT
    *,
    ROUND(100 * closed_keys / NULLIF(current_keys, 0), 1) AS closed_percent
FROM (
    SELECT
        COUNT_IF(_scd_action = 'open') AS `open`,
        COUNT_IF(_scd_action = 'close') AS `close`,
        COUNT_IF(_scd_action = 'correct') AS `correct`,
        COUNT_IF(_scd_action = 'fold') AS `fold`,
        COUNT_IF(_scd_deletes) AS `delete`,
        COUNT_IF(_scd_action = 'unchanged') AS `unchanged`,
        COUNT_IF(_scd_late AND _scd_action <> 'unchanged') AS late,
        COUNT_IF(_scd_closes) AS closed_keys,
        (
            SELECT COUNT(*)
            FROM `crm`.`customer_address` AS t
            WHERE t.`end_date` IS NULL
        ) AS current_keys
    FROM _scd_plan
);

-- Some rows of each action; a value that would change stands there as `old -> new`.
SELECT
    _scd_action AS action,
    CONCAT_WS(', ', CASE WHEN _scd_late THEN 'late' END, CASE WHEN _scd_deletes THEN 'deletes' END) AS note,
    `id`,
    ARRAY_JOIN(ARRAY_DISTINCT(ARRAY(_scd_old.`name`, _scd_new.`name`)), ' -> ', 'NULL') AS `name`,
    ARRAY_JOIN(ARRAY_DISTINCT(ARRAY(_scd_old.`address`, _scd_new.`address`)), ' -> ', 'NULL') AS `address`,
    _scd_new.`start_date`,
    ARRAY_JOIN(ARRAY_DISTINCT(ARRAY(CAST(_scd_old.`end_date` AS STRING), CAST(_scd_new.`end_date` AS STRING))), ' -> ', 'NULL') AS `end_date`,
    ARRAY_JOIN(ARRAY_DISTINCT(ARRAY(CAST(_scd_old.`is_current` AS STRING), CAST(_scd_new.`is_current` AS STRING))), ' -> ', 'NULL') AS `is_current`
FROM (
    SELECT
        _scd_action,
        _scd_deletes,
        _scd_late,
        _scd_start,
        `id`,
        COALESCE(_scd_old, _scd_new) AS _scd_old,
        COALESCE(_scd_new, _scd_old) AS _scd_new,
        ROW_NUMBER() OVER (PARTITION BY _scd_action, _scd_deletes ORDER BY `id`, _scd_start) AS _scd_row
    FROM _scd_plan
    WHERE _scd_action <> 'unchanged'
)
WHERE _scd_row <= 5
ORDER BY `id`, _scd_start, _scd_action;
