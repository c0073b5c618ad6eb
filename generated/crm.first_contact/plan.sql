-- `crm`.`first_contact`: How each customer first came to us.
-- Shows what merge.sql would do: how much, then some of its rows. Writes nothing.
-- Made from specs/first_contact.yml; do not edit: change the spec and run `scdgen generate`.

-- A row per key of the source: _scd_old is what is stored, _scd_new what it becomes.
-- The view belongs to the session and is gone with it.
CREATE OR REPLACE TEMPORARY VIEW _scd_plan AS
WITH changes AS (
    -- The source's rows, in the names and types of the table.
    SELECT
        COALESCE(CAST(`customer_id` AS INT), RAISE_ERROR('[SCDGEN_NULL_KEY] crm.first_contact: the key customer_id is NULL in a source row; mend the source or set bad_rows: skip')) AS `customer_id`,
        CAST(`channel` AS STRING) AS `channel`,
        CAST(`campaign` AS STRING) AS `campaign`,
        CAST(`contacted_at` AS TIMESTAMP) AS `contacted_at`,
        COALESCE(CAST(contacted_at AS TIMESTAMP), RAISE_ERROR('[SCDGEN_NULL_TIME] crm.first_contact: effective_at is NULL in a source row; mend the source or set bad_rows: skip')) AS _scd_at,
        contact_id AS _scd_sequence_1
    FROM `crm`.`contacts`
),
ranked AS (
    -- The rows of each key in their order.
    SELECT
        *,
        FIRST_VALUE(STRUCT(`channel`, `campaign`, `contacted_at`)) OVER ties AS _scd_first,
        ROW_NUMBER() OVER w AS _scd_row
    FROM changes
    WINDOW
        w AS (PARTITION BY `customer_id` ORDER BY _scd_at, _scd_sequence_1),
        ties AS (PARTITION BY `customer_id` ORDER BY _scd_at, _scd_sequence_1 RANGE BETWEEN CURRENT ROW AND CURRENT ROW)
),
staged AS (
    -- The first row of each key.
    SELECT
        `customer_id`,
        `channel`,
        `campaign`,
        `contacted_at`
    FROM ranked
    WHERE
        CASE
            WHEN NOT (_scd_first <=> STRUCT(`channel`, `campaign`, `contacted_at`))
                THEN RAISE_ERROR(CONCAT('[SCDGEN_CONFLICT] crm.first_contact: two different rows of one key and time, such as ', TO_JSON(STRUCT(`customer_id`, _scd_at)), '; mend the source, order them by source.sequence_by or set conflicts: any'))
            ELSE _scd_row = 1
        END
)
SELECT
    CASE WHEN t.`customer_id` IS NULL THEN 'insert' ELSE 'unchanged' END AS _scd_action,
    s.`customer_id`,
    CASE WHEN t.`customer_id` IS NOT NULL THEN STRUCT(t.`customer_id`, t.`channel`, t.`campaign`, t.`contacted_at`) END AS _scd_old,
    CASE WHEN t.`customer_id` IS NULL THEN STRUCT(s.`customer_id`, s.`channel`, s.`campaign`, s.`contacted_at`) END AS _scd_new
FROM staged AS s
LEFT JOIN `crm`.`first_contact` AS t
    ON t.`customer_id` = s.`customer_id`;

-- How much: new keys, keys of the source that the table has already, and keys that are there.
SELECT
    *,
    ROUND(100 * closed_keys / NULLIF(current_keys, 0), 1) AS closed_percent
FROM (
    SELECT
        COUNT_IF(_scd_action = 'insert') AS `insert`,
        COUNT_IF(_scd_action = 'unchanged') AS `unchanged`,
        COUNT_IF(FALSE) AS closed_keys,
        (
            SELECT COUNT(*)
            FROM `crm`.`first_contact`
        ) AS current_keys
    FROM _scd_plan
);

-- Some rows of each action; a value that would change stands there as `old -> new`.
SELECT
    _scd_action AS action,
    `customer_id`,
    _scd_new.`channel`,
    _scd_new.`campaign`,
    _scd_new.`contacted_at`
FROM (
    SELECT
        _scd_action,
        `customer_id`,
        COALESCE(_scd_old, _scd_new) AS _scd_old,
        COALESCE(_scd_new, _scd_old) AS _scd_new,
        ROW_NUMBER() OVER (PARTITION BY _scd_action ORDER BY `customer_id`) AS _scd_row
    FROM _scd_plan
    WHERE _scd_action <> 'unchanged'
)
WHERE _scd_row <= 5
ORDER BY `customer_id`, _scd_action;
