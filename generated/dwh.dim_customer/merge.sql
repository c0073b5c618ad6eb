-- `dwh`.`dim_customer`: Customer dimension; a change of address or date of birth opens a version, a change of name does not
-- Merges a batch of changes into the versions of its keys, in any order; the same batch again changes nothing.
-- Made from specs/dim_design.yml; do not edit: change the spec and run `scdgen generate`.

-- What bounds the read of the target: files outside of it are skipped.
DECLARE OR REPLACE VARIABLE _scd_batch_from DATE;

DECLARE OR REPLACE VARIABLE _scd_partitions_1 ARRAY<STRING>;

SET VARIABLE (_scd_batch_from, _scd_partitions_1) = (
    WITH source AS (
        SELECT c.region, c.customer_no, c.full_name, c.street, c.birth_date, c.changed_on, c.change_no
        FROM staging.customer AS c
        WHERE c.customer_no IS NOT NULL
    )
    SELECT
        MIN(CAST(changed_on AS DATE)) - INTERVAL '1' DAY,
        COLLECT_SET(CAST(`region` AS STRING))
    FROM source
);

MERGE INTO `dwh`.`dim_customer` AS t USING (
    WITH source AS (
        SELECT c.region, c.customer_no, c.full_name, c.street, c.birth_date, c.changed_on, c.change_no
        FROM staging.customer AS c
        WHERE c.customer_no IS NOT NULL
    ),
    changes AS (
        -- The source's rows, in the names and types of the table.
        SELECT
            COALESCE(CAST(`region` AS STRING), RAISE_ERROR('[SCDGEN_NULL_KEY] dwh.dim_customer: the key region is NULL in a source row; mend the source or set bad_rows: skip')) AS `region`,
            COALESCE(CAST(`customer_no` AS STRING), RAISE_ERROR('[SCDGEN_NULL_KEY] dwh.dim_customer: the key customer_no is NULL in a source row; mend the source or set bad_rows: skip')) AS `customer_no`,
            CAST(full_name AS STRING) AS `name`,
            CAST(street AS STRING) AS `address`,
            CAST(`birth_date` AS DATE) AS `birth_date`,
            CASE
                WHEN CAST(changed_on AS DATE) < DATE '9999-12-31' THEN CAST(changed_on AS DATE)
                ELSE RAISE_ERROR('[SCDGEN_NULL_TIME] dwh.dim_customer: effective_at is NULL, or not before the open end 9999-12-31, in a source row; mend the source or set bad_rows: skip')
            END AS _scd_at,
            change_no AS _scd_sequence_1
        FROM source
    ),
    timeline AS (
        -- The changes (rank 1) beside what is stored of their keys: a version's start (2), and its end as a delete (3).
        SELECT
            `region`,
            `customer_no`,
            `name`,
            `address`,
            `birth_date`,
            _scd_at,
            FALSE AS _scd_deleted,
            _scd_sequence_1,
            NULL AS _scd_until,
            IF(_scd_at - INTERVAL '1' DAY >= _scd_batch_from AND ARRAY_CONTAINS(_scd_partitions_1, `region`), 1, RAISE_ERROR('[SCDGEN_SOURCE_CHANGED] dwh.dim_customer: the source got rows while it was read; run again')) AS _scd_rank
        FROM changes
        UNION ALL
        SELECT
            t.`region`,
            t.`customer_no`,
            t.`name`,
            t.`address`,
            t.`birth_date`,
            _scd_at,
            _scd_deleted,
            NULL,
            NULLIF(t.`end_date`, DATE '9999-12-31') + INTERVAL '1' DAY,
            _scd_rank
        FROM `dwh`.`dim_customer` AS t
        LEFT SEMI JOIN changes AS c ON t.`region` = c.`region` AND t.`customer_no` = c.`customer_no`
            LATERAL VIEW STACK(
                2,
                t.`start_date`, FALSE, 2,
                NULLIF(t.`end_date`, DATE '9999-12-31') + INTERVAL '1' DAY, TRUE, 3
            ) p AS _scd_at, _scd_deleted, _scd_rank
        WHERE t.`end_date` >= _scd_batch_from AND ARRAY_CONTAINS(_scd_partitions_1, t.`region`) AND _scd_at IS NOT NULL
        DISTRIBUTE BY `region`, `customer_no`
    ),
    ranked AS (
        -- Of the rows of one key and time the first counts: a change before what is stored, the greatest change_no wins.
        SELECT
            *,
            CASE
                WHEN RANK() OVER w = 1 AND NOT (FIRST_VALUE(STRUCT(`name`, `address`, `birth_date`)) OVER w <=> STRUCT(`name`, `address`, `birth_date`))
                    THEN RAISE_ERROR(CONCAT('[SCDGEN_CONFLICT] dwh.dim_customer: two different rows of one key and time, such as ', TO_JSON(STRUCT(`region`, `customer_no`, _scd_at)), '; mend the source, order them by source.sequence_by or set conflicts: any'))
                ELSE ROW_NUMBER() OVER w
            END AS _scd_row,
            FIRST_VALUE(CASE WHEN _scd_rank = 2 THEN STRUCT(`name`, `address`, `birth_date`, _scd_until AS _scd_next) END) IGNORE NULLS OVER (PARTITION BY `region`, `customer_no`, _scd_at) AS _scd_stored
        FROM timeline
        WINDOW w AS (PARTITION BY `region`, `customer_no`, _scd_at ORDER BY _scd_rank ASC, _scd_sequence_1 DESC)
    ),
    points AS (
        -- One point per key and time. It opens a version where it differs from the state before it.
        SELECT
            *,
            NOT _scd_deleted AND NOT (LAG(STRUCT(_scd_deleted, `address`, `birth_date`)) OVER w <=> STRUCT(_scd_deleted, `address`, `birth_date`)) AS _scd_opens
        FROM ranked WHERE _scd_row = 1 WINDOW w AS (PARTITION BY `region`, `customer_no` ORDER BY _scd_at)
    ),
    runs AS (
        -- Numbers the versions and the times between them, to find the newest value of an untracked column in each.
        SELECT
            *,
            COUNT_IF(_scd_opens OR _scd_deleted) OVER (PARTITION BY `region`, `customer_no` ORDER BY _scd_at) AS _scd_run
        FROM points
    ),
    versions AS (
        -- A version lasts until the next version or delete of its key.
        SELECT
            `region`,
            `customer_no`,
            LAST_VALUE(`name`) OVER run AS `name`,
            `address`,
            `birth_date`,
            _scd_at,
            _scd_opens,
            _scd_stored,
            LEAD(CASE WHEN _scd_opens OR _scd_deleted THEN _scd_at END) IGNORE NULLS OVER w AS _scd_next
        FROM runs
        WINDOW
            w AS (PARTITION BY `region`, `customer_no` ORDER BY _scd_at),
            run AS (
                PARTITION BY `region`, `customer_no`, _scd_run ORDER BY _scd_at
                ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING
            )
    ),
    staged AS (
        -- What has to change in the table: NULL where a version is stored as it should be.
        SELECT
            CASE
                WHEN _scd_opens AND _scd_stored IS NULL THEN 'open'
                WHEN NOT _scd_opens AND _scd_stored IS NOT NULL THEN 'fold'
                WHEN _scd_opens AND NOT (_scd_stored <=> STRUCT(`name`, `address`, `birth_date`, _scd_next))
                    THEN IF(_scd_stored._scd_next IS NULL AND _scd_next IS NOT NULL, 'close', 'correct')
            END AS _scd_action,
            `region`,
            `customer_no`,
            `name`,
            `address`,
            `birth_date`,
            SHA2(TO_JSON(ARRAY(`region`, `customer_no`, CAST(_scd_at AS STRING))), 256) AS `customer_sk`,
            _scd_at AS `start_date`,
            COALESCE(_scd_next - INTERVAL '1' DAY, DATE '9999-12-31') AS `end_date`,
            CASE WHEN _scd_next IS NULL THEN 'Y' ELSE 'N' END AS `current_flag`,
            SHA2(TO_JSON(STRUCT(`address`, CAST(`birth_date` AS STRING) AS `birth_date`), MAP('ignoreNullFields', 'true')), 256) AS `row_hash`
        FROM versions
    )
    SELECT * FROM staged WHERE _scd_action IS NOT NULL
) AS s
    -- A version is known by its key and its start.
    ON t.`region` = s.`region`
        AND t.`customer_no` = s.`customer_no`
        AND t.`start_date` = s.`start_date`
        AND t.`end_date` >= _scd_batch_from
        AND ARRAY_CONTAINS(_scd_partitions_1, t.`region`)
-- A stored version that opens nothing any more: another row stands in its place.
WHEN MATCHED AND s._scd_action = 'fold' THEN DELETE
-- A stored version that ends otherwise, or holds other values.
WHEN MATCHED THEN
    UPDATE SET
        `name` = s.`name`,
        `address` = s.`address`,
        `birth_date` = s.`birth_date`,
        `end_date` = s.`end_date`,
        `current_flag` = s.`current_flag`,
        `row_hash` = s.`row_hash`
-- A new version.
WHEN NOT MATCHED THEN
    INSERT (
        `region`,
        `customer_no`,
        `name`,
        `address`,
        `birth_date`,
        `customer_sk`,
        `start_date`,
        `end_date`,
        `current_flag`,
        `row_hash`
    )
    VALUES (
        s.`region`,
        s.`customer_no`,
        s.`name`,
        s.`address`,
        s.`birth_date`,
        s.`customer_sk`,
        s.`start_date`,
        s.`end_date`,
        s.`current_flag`,
        s.`row_hash`
    );
