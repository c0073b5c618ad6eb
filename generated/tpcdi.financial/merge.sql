-- tpcdi.financial: Quarterly numbers, with the version of the company on the day of their record
-- Keeps one row per key, with the values of its newest change in the last batch that has the key.
-- Stops if: a key is NULL, a year is not in 1 to 9999, rows tie as the newest of a key but differ, or the session's
-- settings change the result.
-- Generated from specs/tpcdi/financial.yml. To change it, edit the spec and run `scdgen generate`.

MERGE INTO tpcdi.financial AS t USING (
    WITH source_query AS (
        -- The query of the spec.
        SELECT f.*, c.sk_company_id
        FROM tpcdi_raw.finwire_fin AS f
        LEFT JOIN tpcdi.dim_company AS n
            ON f.company_name = n.name AND f.day >= n.effective_date AND f.day < n.end_date
        INNER JOIN tpcdi.dim_company AS c
            ON COALESCE(f.company_number, n.company_id) = c.company_id
                AND f.day >= c.effective_date
                AND f.day < c.end_date
    ),
    source_rows AS (
        -- The source's rows, with the target's column names and types.
        SELECT
            CAST(sk_company_id AS BIGINT) AS sk_company_id,
            CAST(fi_year AS INT) AS fi_year,
            CAST(fi_qtr AS INT) AS fi_qtr,
            STRUCT(
                CAST(fi_qtr_start_date AS DATE) AS fi_qtr_start_date,
                CAST(fi_revenue AS DECIMAL(15, 2)) AS fi_revenue,
                CAST(fi_net_earn AS DECIMAL(15, 2)) AS fi_net_earn,
                CAST(fi_basic_eps AS DECIMAL(10, 2)) AS fi_basic_eps,
                CAST(fi_dilut_eps AS DECIMAL(10, 2)) AS fi_dilut_eps,
                CAST(fi_margin AS DECIMAL(10, 2)) AS fi_margin,
                CAST(fi_inventory AS DECIMAL(15, 2)) AS fi_inventory,
                CAST(fi_assets AS DECIMAL(15, 2)) AS fi_assets,
                CAST(fi_liability AS DECIMAL(15, 2)) AS fi_liability,
                CAST(fi_out_basic AS BIGINT) AS fi_out_basic,
                CAST(fi_out_dilut AS BIGINT) AS fi_out_dilut
            ) AS _scd_state,
            pts AS _scd_sequence_1
        FROM source_query
    ),
    changes AS (
        -- One row per key, and per place in its order; _scd_differs: its rows differ. A broken rule stops the run.
        SELECT
            sk_company_id, fi_year, fi_qtr, _scd_sequence_1,
            MIN(_scd_state) AS _scd_state,
            MIN(_scd_state) IS DISTINCT FROM MAX(_scd_state) AS _scd_differs
        FROM (SELECT * FROM source_rows DISTRIBUTE BY sk_company_id, fi_year, fi_qtr) -- one shuffle serves every step
        GROUP BY sk_company_id, fi_year, fi_qtr, _scd_sequence_1
        HAVING CASE
            WHEN TYPEOF(COALESCE(1, '')) = 'string' OR TYPEOF(CAST(NULL AS TIMESTAMP)) <> 'timestamp'
                THEN RAISE_ERROR('[SCDGEN_SETTINGS] tpcdi.financial: needs ANSI mode and TIMESTAMP_LTZ')
            WHEN CURRENT_TIMEZONE() NOT IN ('UTC', 'Etc/UTC', 'GMT')
                THEN RAISE_ERROR('[SCDGEN_TIME_ZONE] tpcdi.financial: run SET TIME ZONE \'UTC\' first')
            WHEN sk_company_id IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] tpcdi.financial: sk_company_id is NULL')
            WHEN fi_year IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] tpcdi.financial: fi_year is NULL')
            WHEN fi_qtr IS NULL THEN RAISE_ERROR('[SCDGEN_NULL_KEY] tpcdi.financial: fi_qtr is NULL')
            WHEN BOOL_OR(YEAR(_scd_state.fi_qtr_start_date) NOT BETWEEN 1 AND 9999)
                THEN RAISE_ERROR('[SCDGEN_YEAR] tpcdi.financial: year not in 1-9999')
            ELSE TRUE
        END
    )
    -- The newest row of each key; one that ties with it and differs stops the statement.
    SELECT sk_company_id, fi_year, fi_qtr, MAX_BY(_scd_state, STRUCT(_scd_sequence_1)) AS _scd_state
    FROM changes
    GROUP BY sk_company_id, fi_year, fi_qtr
    HAVING CASE
        WHEN MAX_BY(_scd_differs, STRUCT(_scd_sequence_1))
            THEN RAISE_ERROR('[SCDGEN_CONFLICT] tpcdi.financial: two rows differ: '
                || TO_JSON(STRUCT(sk_company_id, fi_year, fi_qtr)))
        ELSE TRUE
    END
) AS s
    -- A key identifies a row.
    ON t.sk_company_id = s.sk_company_id AND t.fi_year = s.fi_year AND t.fi_qtr = s.fi_qtr
-- A stored row that changes.
WHEN MATCHED
    AND s._scd_state IS DISTINCT FROM STRUCT(
        t.fi_qtr_start_date, t.fi_revenue, t.fi_net_earn, t.fi_basic_eps, t.fi_dilut_eps, t.fi_margin, t.fi_inventory,
        t.fi_assets, t.fi_liability, t.fi_out_basic, t.fi_out_dilut
    )
    THEN UPDATE SET
        fi_qtr_start_date = s._scd_state.fi_qtr_start_date, fi_revenue = s._scd_state.fi_revenue,
        fi_net_earn = s._scd_state.fi_net_earn, fi_basic_eps = s._scd_state.fi_basic_eps,
        fi_dilut_eps = s._scd_state.fi_dilut_eps, fi_margin = s._scd_state.fi_margin,
        fi_inventory = s._scd_state.fi_inventory, fi_assets = s._scd_state.fi_assets,
        fi_liability = s._scd_state.fi_liability, fi_out_basic = s._scd_state.fi_out_basic,
        fi_out_dilut = s._scd_state.fi_out_dilut
-- A new key.
WHEN NOT MATCHED THEN INSERT (
    sk_company_id, fi_year, fi_qtr, fi_qtr_start_date, fi_revenue, fi_net_earn, fi_basic_eps, fi_dilut_eps, fi_margin,
    fi_inventory, fi_assets, fi_liability, fi_out_basic, fi_out_dilut
) VALUES (
    s.sk_company_id, s.fi_year, s.fi_qtr, s._scd_state.fi_qtr_start_date, s._scd_state.fi_revenue,
    s._scd_state.fi_net_earn, s._scd_state.fi_basic_eps, s._scd_state.fi_dilut_eps, s._scd_state.fi_margin,
    s._scd_state.fi_inventory, s._scd_state.fi_assets, s._scd_state.fi_liability, s._scd_state.fi_out_basic,
    s._scd_state.fi_out_dilut
);
