-- tpcdi.dim_customer: Customers, by the actions of ten years and then by full rows of each day
-- Merges a batch of changes into the history of their keys; other keys stay as they are.
-- Late changes: split or shorten the version that they fall into; one at the start of a version replaces its values.
-- Rows that change nothing: open a version, too.
-- Deletes: the source has none.
-- Columns that a change does not give: keep the value that they had.
-- Stops if: a key or time is NULL, a year is not in 1 to 9999, a row sets a column that the spec does not have, rows
-- tie for the greatest sequence of a key and time but differ, a row before the batch's first arrives during the run, a
-- time is not before DATE '9999-12-31', the end of open versions, or the session's settings change the result.
-- Generated from specs/tpcdi/dim_customer.yml, feed actions. To change it, edit the spec and run `scdgen generate`.

-- The batch affects no version whose stored end is before this time, so Delta can skip their files.
DECLARE OR REPLACE VARIABLE _scd_batch_from DATE;
SET VARIABLE _scd_batch_from = (SELECT MIN(CAST(day AS DATE)) FROM tpcdi_raw.customer_actions);

MERGE INTO tpcdi.dim_customer AS t USING (
    WITH source_rows AS (
        -- The source's rows, with the target's column names and types.
        -- _scd_rest has the columns with `track: false`.
        SELECT
            CAST(customer_id AS BIGINT) AS customer_id,
            STRUCT(
                CAST(tax_id AS STRING) AS tax_id,
                CAST(status AS STRING) AS status,
                CAST(last_name AS STRING) AS last_name,
                CAST(first_name AS STRING) AS first_name,
                CAST(middle_initial AS STRING) AS middle_initial,
                CAST(gender AS STRING) AS gender,
                CAST(tier AS INT) AS tier,
                CAST(dob AS DATE) AS dob,
                CAST(address_line1 AS STRING) AS address_line1,
                CAST(address_line2 AS STRING) AS address_line2,
                CAST(postal_code AS STRING) AS postal_code,
                CAST(city AS STRING) AS city,
                CAST(state_prov AS STRING) AS state_prov,
                CAST(country AS STRING) AS country,
                CAST(phone1 AS STRING) AS phone1,
                CAST(phone2 AS STRING) AS phone2,
                CAST(phone3 AS STRING) AS phone3,
                CAST(email1 AS STRING) AS email1,
                CAST(email2 AS STRING) AS email2,
                CAST(national_tax_rate_desc AS STRING) AS national_tax_rate_desc,
                CAST(national_tax_rate AS DECIMAL(6, 5)) AS national_tax_rate,
                CAST(local_tax_rate_desc AS STRING) AS local_tax_rate_desc,
                CAST(local_tax_rate AS DECIMAL(6, 5)) AS local_tax_rate
            ) AS _scd_state,
            STRUCT(CAST(batch_id AS INT) AS batch_id) AS _scd_rest,
            CAST(day AS DATE) AS _scd_at,
            ARRAY_SORT(ARRAY_DISTINCT(TRANSFORM(CAST(sets AS ARRAY<STRING>), name -> LOWER(name)))) AS _scd_sets,
            at AS _scd_sequence_1
        FROM tpcdi_raw.customer_actions
    ),
    ranked AS (
        -- At one key and time the row with the greatest `at` wins.
        SELECT *, RANK() OVER (PARTITION BY customer_id, _scd_at ORDER BY _scd_sequence_1 DESC) AS _scd_nth
        FROM source_rows
    ),
    given AS (
        -- What a row sets; NULL for a column not in _scd_sets (no list: sets all). Ties may not differ in it.
        SELECT
            *,
            STRUCT(
                IF(ARRAY_CONTAINS(_scd_sets, 'tax_id') IS NOT FALSE, STRUCT(_scd_state.tax_id), NULL) AS tax_id,
                IF(ARRAY_CONTAINS(_scd_sets, 'status') IS NOT FALSE, STRUCT(_scd_state.status), NULL) AS status,
                IF(
                    ARRAY_CONTAINS(_scd_sets, 'last_name') IS NOT FALSE, STRUCT(_scd_state.last_name), NULL
                ) AS last_name,
                IF(
                    ARRAY_CONTAINS(_scd_sets, 'first_name') IS NOT FALSE, STRUCT(_scd_state.first_name), NULL
                ) AS first_name,
                IF(
                    ARRAY_CONTAINS(_scd_sets, 'middle_initial') IS NOT FALSE, STRUCT(_scd_state.middle_initial), NULL
                ) AS middle_initial,
                IF(ARRAY_CONTAINS(_scd_sets, 'gender') IS NOT FALSE, STRUCT(_scd_state.gender), NULL) AS gender,
                IF(ARRAY_CONTAINS(_scd_sets, 'tier') IS NOT FALSE, STRUCT(_scd_state.tier), NULL) AS tier,
                IF(ARRAY_CONTAINS(_scd_sets, 'dob') IS NOT FALSE, STRUCT(_scd_state.dob), NULL) AS dob,
                IF(
                    ARRAY_CONTAINS(_scd_sets, 'address_line1') IS NOT FALSE, STRUCT(_scd_state.address_line1), NULL
                ) AS address_line1,
                IF(
                    ARRAY_CONTAINS(_scd_sets, 'address_line2') IS NOT FALSE, STRUCT(_scd_state.address_line2), NULL
                ) AS address_line2,
                IF(
                    ARRAY_CONTAINS(_scd_sets, 'postal_code') IS NOT FALSE, STRUCT(_scd_state.postal_code), NULL
                ) AS postal_code,
                IF(ARRAY_CONTAINS(_scd_sets, 'city') IS NOT FALSE, STRUCT(_scd_state.city), NULL) AS city,
                IF(
                    ARRAY_CONTAINS(_scd_sets, 'state_prov') IS NOT FALSE, STRUCT(_scd_state.state_prov), NULL
                ) AS state_prov,
                IF(ARRAY_CONTAINS(_scd_sets, 'country') IS NOT FALSE, STRUCT(_scd_state.country), NULL) AS country,
                IF(ARRAY_CONTAINS(_scd_sets, 'phone1') IS NOT FALSE, STRUCT(_scd_state.phone1), NULL) AS phone1,
                IF(ARRAY_CONTAINS(_scd_sets, 'phone2') IS NOT FALSE, STRUCT(_scd_state.phone2), NULL) AS phone2,
                IF(ARRAY_CONTAINS(_scd_sets, 'phone3') IS NOT FALSE, STRUCT(_scd_state.phone3), NULL) AS phone3,
                IF(ARRAY_CONTAINS(_scd_sets, 'email1') IS NOT FALSE, STRUCT(_scd_state.email1), NULL) AS email1,
                IF(ARRAY_CONTAINS(_scd_sets, 'email2') IS NOT FALSE, STRUCT(_scd_state.email2), NULL) AS email2,
                IF(
                    ARRAY_CONTAINS(_scd_sets, 'national_tax_rate_desc') IS NOT FALSE,
                    STRUCT(_scd_state.national_tax_rate_desc),
                    NULL
                ) AS national_tax_rate_desc,
                IF(
                    ARRAY_CONTAINS(_scd_sets, 'national_tax_rate') IS NOT FALSE,
                    STRUCT(_scd_state.national_tax_rate),
                    NULL
                ) AS national_tax_rate,
                IF(
                    ARRAY_CONTAINS(_scd_sets, 'local_tax_rate_desc') IS NOT FALSE,
                    STRUCT(_scd_state.local_tax_rate_desc),
                    NULL
                ) AS local_tax_rate_desc,
                IF(
                    ARRAY_CONTAINS(_scd_sets, 'local_tax_rate') IS NOT FALSE, STRUCT(_scd_state.local_tax_rate), NULL
                ) AS local_tax_rate,
                IF(ARRAY_CONTAINS(_scd_sets, 'batch_id') IS NOT FALSE, STRUCT(_scd_rest.batch_id), NULL) AS batch_id
            ) AS _scd_given
        FROM ranked
    ),
    changes AS (
        -- One row per key and time. A row that breaks a rule stops the statement.
        SELECT
            customer_id, _scd_at,
            MIN_BY(_scd_state, _scd_given) FILTER (WHERE _scd_nth = 1) AS _scd_state,
            MIN_BY(_scd_rest, _scd_given) FILTER (WHERE _scd_nth = 1) AS _scd_rest,
            MIN_BY(_scd_sets, _scd_given) FILTER (WHERE _scd_nth = 1) AS _scd_sets
        FROM given
        GROUP BY customer_id, _scd_at
        HAVING CASE
            WHEN TYPEOF(COALESCE(1, '')) = 'string'
                THEN RAISE_ERROR('[SCDGEN_SETTINGS] tpcdi.dim_customer: needs ANSI mode')
            WHEN CURRENT_TIMEZONE() NOT IN ('UTC', 'Etc/UTC', 'GMT')
                THEN RAISE_ERROR('[SCDGEN_TIME_ZONE] tpcdi.dim_customer: run SET TIME ZONE \'UTC\' first')
            WHEN customer_id IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] tpcdi.dim_customer: customer_id is NULL')
            WHEN BOOL_OR(
                SIZE(
                    ARRAY_EXCEPT(
                        _scd_sets,
                        ARRAY(
                            'customer_id', 'tax_id', 'status', 'last_name', 'first_name', 'middle_initial', 'gender',
                            'tier', 'dob', 'address_line1', 'address_line2', 'postal_code', 'city', 'state_prov',
                            'country', 'phone1', 'phone2', 'phone3', 'email1', 'email2', 'national_tax_rate_desc',
                            'national_tax_rate', 'local_tax_rate_desc', 'local_tax_rate', 'batch_id'
                        )
                    )
                ) > 0
            )
                THEN RAISE_ERROR(
                    '[SCDGEN_UNKNOWN_COLUMN] tpcdi.dim_customer: source.sets names a column that the spec does not have'
                )
            WHEN BOOL_OR(
                YEAR(LEAST(_scd_at, _scd_state.dob)) NOT BETWEEN 1 AND 9999
                    OR YEAR(GREATEST(_scd_at, _scd_state.dob)) NOT BETWEEN 1 AND 9999
            )
                THEN RAISE_ERROR('[SCDGEN_YEAR] tpcdi.dim_customer: year not in 1-9999')
            WHEN _scd_at IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_TIME] tpcdi.dim_customer: day is NULL')
            WHEN _scd_at >= DATE '9999-12-31'
                THEN RAISE_ERROR('[SCDGEN_NULL_TIME] tpcdi.dim_customer: day is not before the open end')
            WHEN MIN(_scd_given) FILTER (WHERE _scd_nth = 1)
                IS DISTINCT FROM MAX(_scd_given) FILTER (WHERE _scd_nth = 1)
                THEN RAISE_ERROR('[SCDGEN_CONFLICT] tpcdi.dim_customer: two rows differ: '
                    || TO_JSON(STRUCT(customer_id, _scd_at)))
            WHEN _scd_at >= _scd_batch_from THEN TRUE
            ELSE RAISE_ERROR('[SCDGEN_SOURCE_CHANGED] tpcdi.dim_customer: the source changed during the run')
        END
    ),
    stored AS (
        -- The versions that a change can affect; _scd_to is exclusive. Delta skips files by _scd_batch_from.
        SELECT
            t.customer_id, t.effective_date AS _scd_from,
            NULLIF(t.end_date, DATE '9999-12-31') AS _scd_to,
            STRUCT(
                t.tax_id, t.status, t.last_name, t.first_name, t.middle_initial, t.gender, t.tier, t.dob,
                t.address_line1, t.address_line2, t.postal_code, t.city, t.state_prov, t.country, t.phone1, t.phone2,
                t.phone3, t.email1, t.email2, t.national_tax_rate_desc, t.national_tax_rate, t.local_tax_rate_desc,
                t.local_tax_rate
            ) AS _scd_state,
            STRUCT(t.batch_id) AS _scd_rest
        FROM tpcdi.dim_customer AS t
        LEFT SEMI JOIN changes AS c ON t.customer_id = c.customer_id AND t.end_date >= c._scd_at
        WHERE t.end_date >= _scd_batch_from
    ),
    events AS (
        -- The state of a key from a time on, NULL for none: a change (rank 1), or a start (2) or end (3) of a version.
        SELECT customer_id, _scd_at, _scd_state, _scd_rest, _scd_sets, NULL AS _scd_stored, 1 AS _scd_rank FROM changes
        UNION ALL
        SELECT v.customer_id, e._scd_at, e._scd_state, e._scd_rest, NULL, e._scd_stored, e._scd_rank
        FROM stored AS v
            LATERAL VIEW STACK(2,
                v._scd_from, v._scd_state, v._scd_rest, STRUCT(v._scd_state, v._scd_rest, v._scd_to), 2,
                v._scd_to, NULL, NULL, NULL, 3
            ) e AS _scd_at, _scd_state, _scd_rest, _scd_stored, _scd_rank
        WHERE e._scd_at IS NOT NULL
        DISTRIBUTE BY customer_id -- of the whole UNION: one shuffle serves every step
    ),
    states AS (
        -- One row per key and time: a change wins over what is stored. _scd_stored: the stored version with this start.
        SELECT
            customer_id, _scd_at,
            MIN_BY(_scd_state, _scd_rank) AS _scd_state,
            MIN_BY(_scd_rest, _scd_rank) AS _scd_rest,
            MIN_BY(_scd_sets, _scd_rank) AS _scd_sets,
            MAX(_scd_stored) AS _scd_stored
        FROM events
        GROUP BY customer_id, _scd_at
    ),
    lives AS (
        -- Numbers the lives of a key: one ends where the key has no state.
        SELECT
            *,
            COUNT_IF(_scd_state IS NULL) OVER (PARTITION BY customer_id ORDER BY _scd_at) AS _scd_life,
            -- What a change gives, NULL for a column that it does not give. Stored versions (no list) give all.
            STRUCT(
                IF(ARRAY_CONTAINS(_scd_sets, 'tax_id') IS NOT FALSE, STRUCT(_scd_state.tax_id), NULL) AS tax_id,
                IF(ARRAY_CONTAINS(_scd_sets, 'status') IS NOT FALSE, STRUCT(_scd_state.status), NULL) AS status,
                IF(
                    ARRAY_CONTAINS(_scd_sets, 'last_name') IS NOT FALSE, STRUCT(_scd_state.last_name), NULL
                ) AS last_name,
                IF(
                    ARRAY_CONTAINS(_scd_sets, 'first_name') IS NOT FALSE, STRUCT(_scd_state.first_name), NULL
                ) AS first_name,
                IF(
                    ARRAY_CONTAINS(_scd_sets, 'middle_initial') IS NOT FALSE, STRUCT(_scd_state.middle_initial), NULL
                ) AS middle_initial,
                IF(ARRAY_CONTAINS(_scd_sets, 'gender') IS NOT FALSE, STRUCT(_scd_state.gender), NULL) AS gender,
                IF(ARRAY_CONTAINS(_scd_sets, 'tier') IS NOT FALSE, STRUCT(_scd_state.tier), NULL) AS tier,
                IF(ARRAY_CONTAINS(_scd_sets, 'dob') IS NOT FALSE, STRUCT(_scd_state.dob), NULL) AS dob,
                IF(
                    ARRAY_CONTAINS(_scd_sets, 'address_line1') IS NOT FALSE, STRUCT(_scd_state.address_line1), NULL
                ) AS address_line1,
                IF(
                    ARRAY_CONTAINS(_scd_sets, 'address_line2') IS NOT FALSE, STRUCT(_scd_state.address_line2), NULL
                ) AS address_line2,
                IF(
                    ARRAY_CONTAINS(_scd_sets, 'postal_code') IS NOT FALSE, STRUCT(_scd_state.postal_code), NULL
                ) AS postal_code,
                IF(ARRAY_CONTAINS(_scd_sets, 'city') IS NOT FALSE, STRUCT(_scd_state.city), NULL) AS city,
                IF(
                    ARRAY_CONTAINS(_scd_sets, 'state_prov') IS NOT FALSE, STRUCT(_scd_state.state_prov), NULL
                ) AS state_prov,
                IF(ARRAY_CONTAINS(_scd_sets, 'country') IS NOT FALSE, STRUCT(_scd_state.country), NULL) AS country,
                IF(ARRAY_CONTAINS(_scd_sets, 'phone1') IS NOT FALSE, STRUCT(_scd_state.phone1), NULL) AS phone1,
                IF(ARRAY_CONTAINS(_scd_sets, 'phone2') IS NOT FALSE, STRUCT(_scd_state.phone2), NULL) AS phone2,
                IF(ARRAY_CONTAINS(_scd_sets, 'phone3') IS NOT FALSE, STRUCT(_scd_state.phone3), NULL) AS phone3,
                IF(ARRAY_CONTAINS(_scd_sets, 'email1') IS NOT FALSE, STRUCT(_scd_state.email1), NULL) AS email1,
                IF(ARRAY_CONTAINS(_scd_sets, 'email2') IS NOT FALSE, STRUCT(_scd_state.email2), NULL) AS email2,
                IF(
                    ARRAY_CONTAINS(_scd_sets, 'national_tax_rate_desc') IS NOT FALSE,
                    STRUCT(_scd_state.national_tax_rate_desc),
                    NULL
                ) AS national_tax_rate_desc,
                IF(
                    ARRAY_CONTAINS(_scd_sets, 'national_tax_rate') IS NOT FALSE,
                    STRUCT(_scd_state.national_tax_rate),
                    NULL
                ) AS national_tax_rate,
                IF(
                    ARRAY_CONTAINS(_scd_sets, 'local_tax_rate_desc') IS NOT FALSE,
                    STRUCT(_scd_state.local_tax_rate_desc),
                    NULL
                ) AS local_tax_rate_desc,
                IF(
                    ARRAY_CONTAINS(_scd_sets, 'local_tax_rate') IS NOT FALSE, STRUCT(_scd_state.local_tax_rate), NULL
                ) AS local_tax_rate,
                IF(ARRAY_CONTAINS(_scd_sets, 'batch_id') IS NOT FALSE, STRUCT(_scd_rest.batch_id), NULL) AS batch_id
            ) AS _scd_given
        FROM states
    ),
    filled AS (
        -- A column that a change does not give has the value before it.
        SELECT
            customer_id, _scd_at, _scd_stored,
            CASE
                WHEN _scd_state IS NOT NULL
                    THEN STRUCT(
                        (LAST_VALUE(_scd_given.tax_id) IGNORE NULLS OVER by_life).tax_id AS tax_id,
                        (LAST_VALUE(_scd_given.status) IGNORE NULLS OVER by_life).status AS status,
                        (LAST_VALUE(_scd_given.last_name) IGNORE NULLS OVER by_life).last_name AS last_name,
                        (LAST_VALUE(_scd_given.first_name) IGNORE NULLS OVER by_life).first_name AS first_name,
                        (
                            LAST_VALUE(_scd_given.middle_initial) IGNORE NULLS OVER by_life
                        ).middle_initial AS middle_initial,
                        (LAST_VALUE(_scd_given.gender) IGNORE NULLS OVER by_life).gender AS gender,
                        (LAST_VALUE(_scd_given.tier) IGNORE NULLS OVER by_life).tier AS tier,
                        (LAST_VALUE(_scd_given.dob) IGNORE NULLS OVER by_life).dob AS dob,
                        (LAST_VALUE(_scd_given.address_line1) IGNORE NULLS OVER by_life).address_line1 AS address_line1,
                        (LAST_VALUE(_scd_given.address_line2) IGNORE NULLS OVER by_life).address_line2 AS address_line2,
                        (LAST_VALUE(_scd_given.postal_code) IGNORE NULLS OVER by_life).postal_code AS postal_code,
                        (LAST_VALUE(_scd_given.city) IGNORE NULLS OVER by_life).city AS city,
                        (LAST_VALUE(_scd_given.state_prov) IGNORE NULLS OVER by_life).state_prov AS state_prov,
                        (LAST_VALUE(_scd_given.country) IGNORE NULLS OVER by_life).country AS country,
                        (LAST_VALUE(_scd_given.phone1) IGNORE NULLS OVER by_life).phone1 AS phone1,
                        (LAST_VALUE(_scd_given.phone2) IGNORE NULLS OVER by_life).phone2 AS phone2,
                        (LAST_VALUE(_scd_given.phone3) IGNORE NULLS OVER by_life).phone3 AS phone3,
                        (LAST_VALUE(_scd_given.email1) IGNORE NULLS OVER by_life).email1 AS email1,
                        (LAST_VALUE(_scd_given.email2) IGNORE NULLS OVER by_life).email2 AS email2,
                        (
                            LAST_VALUE(_scd_given.national_tax_rate_desc) IGNORE NULLS OVER by_life
                        ).national_tax_rate_desc AS national_tax_rate_desc,
                        (
                            LAST_VALUE(_scd_given.national_tax_rate) IGNORE NULLS OVER by_life
                        ).national_tax_rate AS national_tax_rate,
                        (
                            LAST_VALUE(_scd_given.local_tax_rate_desc) IGNORE NULLS OVER by_life
                        ).local_tax_rate_desc AS local_tax_rate_desc,
                        (
                            LAST_VALUE(_scd_given.local_tax_rate) IGNORE NULLS OVER by_life
                        ).local_tax_rate AS local_tax_rate
                    )
            END AS _scd_state,
            CASE
                WHEN _scd_state IS NOT NULL
                    THEN STRUCT((LAST_VALUE(_scd_given.batch_id) IGNORE NULLS OVER by_life).batch_id AS batch_id)
            END AS _scd_rest
        FROM lives
        WINDOW by_life AS (PARTITION BY customer_id, _scd_life ORDER BY _scd_at)
    ),
    starts AS (
        -- Each event with a state opens a version.
        SELECT *, _scd_state IS NOT NULL AS _scd_opens FROM filled
    ),
    versions AS (
        -- Each event, with the exclusive end of its version: the next event (each opens one or has no state).
        SELECT *, LEAD(_scd_at) OVER by_key AS _scd_to
        FROM starts
        WINDOW by_key AS (PARTITION BY customer_id ORDER BY _scd_at)
    )
    -- What differs from what is stored.
    SELECT
        customer_id, _scd_state.*, _scd_rest.*,
        XXHASH64(TO_JSON(ARRAY(CAST(customer_id AS STRING), CAST(_scd_at AS STRING)))) AS sk_customer_id,
        _scd_at AS effective_date,
        COALESCE(_scd_to, DATE '9999-12-31') AS end_date,
        _scd_to IS NULL AS is_current
    FROM versions
    WHERE _scd_stored IS DISTINCT FROM CASE WHEN _scd_opens THEN STRUCT(_scd_state, _scd_rest, _scd_to) END
) AS s
    -- A key and a start identify a version; the rest lets Delta skip files.
    ON t.customer_id = s.customer_id AND t.effective_date = s.effective_date AND t.end_date >= _scd_batch_from
WHEN MATCHED THEN UPDATE SET
    tax_id = s.tax_id, status = s.status, last_name = s.last_name, first_name = s.first_name,
    middle_initial = s.middle_initial, gender = s.gender, tier = s.tier, dob = s.dob, address_line1 = s.address_line1,
    address_line2 = s.address_line2, postal_code = s.postal_code, city = s.city, state_prov = s.state_prov,
    country = s.country, phone1 = s.phone1, phone2 = s.phone2, phone3 = s.phone3, email1 = s.email1, email2 = s.email2,
    national_tax_rate_desc = s.national_tax_rate_desc, national_tax_rate = s.national_tax_rate,
    local_tax_rate_desc = s.local_tax_rate_desc, local_tax_rate = s.local_tax_rate, batch_id = s.batch_id,
    end_date = s.end_date, is_current = s.is_current
WHEN NOT MATCHED THEN INSERT (
    customer_id, tax_id, status, last_name, first_name, middle_initial, gender, tier, dob, address_line1, address_line2,
    postal_code, city, state_prov, country, phone1, phone2, phone3, email1, email2, national_tax_rate_desc,
    national_tax_rate, local_tax_rate_desc, local_tax_rate, batch_id, sk_customer_id, effective_date, end_date,
    is_current
) VALUES (
    s.customer_id, s.tax_id, s.status, s.last_name, s.first_name, s.middle_initial, s.gender, s.tier, s.dob,
    s.address_line1, s.address_line2, s.postal_code, s.city, s.state_prov, s.country, s.phone1, s.phone2, s.phone3,
    s.email1, s.email2, s.national_tax_rate_desc, s.national_tax_rate, s.local_tax_rate_desc, s.local_tax_rate,
    s.batch_id, s.sk_customer_id, s.effective_date, s.end_date, s.is_current
);
