-- crm.customer_member: A row per version of a customer, and one per customer that only orders name so far
-- Adds the keys that facts name and the table lacks, each as an inferred member: an open version from the earliest time
-- of its facts on, in which every column of the source is NULL except the key. An earlier fact moves the start of a
-- member that the source has not completed, and with it the surrogate key. Run it before merge.sql. The same facts
-- again change nothing.
-- Generated from specs/customer_member.yml. To change it, edit the spec and run `scdgen generate`.

MERGE INTO crm.customer_member AS t USING (
    WITH source_rows AS (
        -- Keys and times of the facts, in the types of the table.
        SELECT CAST(f.customer_id AS INT) AS id, CAST(f.ordered_at AS TIMESTAMP) AS _scd_at FROM sales.orders AS f
    ),
    versions AS (
        -- One per key, from its earliest fact on. A fact without a key or a time infers nothing.
        -- A session that would read values differently stops the statement.
        SELECT
            id,
            CAST(NULL AS STRING) AS segment,
            MIN(_scd_at) AS _scd_at,
            CAST(NULL AS TIMESTAMP) AS _scd_to
        FROM source_rows
        WHERE CASE
            WHEN TYPEOF(COALESCE(1, '')) = 'string' OR TYPEOF(CAST(NULL AS TIMESTAMP)) <> 'timestamp'
                THEN RAISE_ERROR('[SCDGEN_SETTINGS] crm.customer_member: needs ANSI mode and TIMESTAMP_LTZ')
            WHEN CURRENT_TIMEZONE() NOT IN ('UTC', 'Etc/UTC', 'GMT')
                THEN RAISE_ERROR('[SCDGEN_TIME_ZONE] crm.customer_member: run SET TIME ZONE \'UTC\' first')
            ELSE TRUE
        END
            AND id IS NOT NULL
            AND _scd_at IS NOT NULL
            AND NOT (id = -1)
        GROUP BY id
    )
    SELECT
        id, segment,
        SHA2(TO_JSON(ARRAY(CAST(id AS STRING), CAST(UNIX_MICROS(_scd_at) AS STRING))), 256) AS customer_sk,
        _scd_at AS valid_from, _scd_to AS valid_to,
        _scd_to IS NULL AS is_current,
        TRUE AS is_inferred
    FROM versions
    WHERE CASE
        WHEN YEAR(_scd_at) NOT BETWEEN 1 AND 9999
            THEN RAISE_ERROR('[SCDGEN_YEAR] crm.customer_member: year not in 1-9999')
        ELSE TRUE
    END
) AS s
    ON t.id = s.id
-- An earlier fact of an inferred member has arrived.
WHEN MATCHED AND t.is_inferred AND s.valid_from < t.valid_from THEN UPDATE SET
    customer_sk = s.customer_sk, valid_from = s.valid_from
-- A key that the table lacks.
WHEN NOT MATCHED THEN INSERT (id, segment, customer_sk, valid_from, valid_to, is_current, is_inferred)
    VALUES (s.id, s.segment, s.customer_sk, s.valid_from, s.valid_to, s.is_current, s.is_inferred);
