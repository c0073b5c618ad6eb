-- The files of one or more batches as tables and views, which the specs of this folder read.
-- ${files} is the folder of the batches to read, ${first} that of the first batch.

CREATE SCHEMA IF NOT EXISTS tpcdi_raw;

-- The files. A name is looked for in all folders below; a batch that lacks a file has no rows of it.

DROP TABLE IF EXISTS tpcdi_raw.customer_mgmt;

CREATE TABLE tpcdi_raw.customer_mgmt (
    _ActionType STRING,
    _ActionTS TIMESTAMP,
    Customer STRUCT<
        _C_ID: BIGINT, _C_TAX_ID: STRING, _C_GNDR: STRING, _C_TIER: INT, _C_DOB: DATE,
        Name: STRUCT<C_L_NAME: STRING, C_F_NAME: STRING, C_M_NAME: STRING>,
        Address: STRUCT<
            C_ADLINE1: STRING, C_ADLINE2: STRING, C_ZIPCODE: STRING, C_CITY: STRING, C_STATE_PROV: STRING, C_CTRY: STRING
        >,
        ContactInfo: STRUCT<
            C_PRIM_EMAIL: STRING,
            C_ALT_EMAIL: STRING,
            C_PHONE_1: STRUCT<C_CTRY_CODE: STRING, C_AREA_CODE: STRING, C_LOCAL: STRING, C_EXT: STRING>,
            C_PHONE_2: STRUCT<C_CTRY_CODE: STRING, C_AREA_CODE: STRING, C_LOCAL: STRING, C_EXT: STRING>,
            C_PHONE_3: STRUCT<C_CTRY_CODE: STRING, C_AREA_CODE: STRING, C_LOCAL: STRING, C_EXT: STRING>
        >,
        TaxInfo: STRUCT<C_LCL_TX_ID: STRING, C_NAT_TX_ID: STRING>,
        Account: STRUCT<_CA_ID: BIGINT, _CA_TAX_ST: INT, CA_B_ID: BIGINT, CA_NAME: STRING>
    >
) USING XML OPTIONS (
    path '${files}', recursiveFileLookup 'true', pathGlobFilter 'CustomerMgmt.xml', rowTag 'TPCDI:Action', nullValue ''
);

DROP TABLE IF EXISTS tpcdi_raw.customer_txt;

CREATE TABLE tpcdi_raw.customer_txt (
    cdc_flag STRING, cdc_dsn BIGINT, c_id BIGINT, c_tax_id STRING, c_st_id STRING, c_l_name STRING, c_f_name STRING,
    c_m_name STRING, c_gndr STRING, c_tier INT, c_dob DATE, c_adline1 STRING, c_adline2 STRING, c_zipcode STRING,
    c_city STRING, c_state_prov STRING, c_ctry STRING, c_ctry_1 STRING, c_area_1 STRING, c_local_1 STRING,
    c_ext_1 STRING, c_ctry_2 STRING, c_area_2 STRING, c_local_2 STRING, c_ext_2 STRING, c_ctry_3 STRING,
    c_area_3 STRING, c_local_3 STRING, c_ext_3 STRING, c_email_1 STRING, c_email_2 STRING, c_lcl_tx_id STRING,
    c_nat_tx_id STRING
) USING CSV OPTIONS (path '${files}', recursiveFileLookup 'true', pathGlobFilter 'Customer.txt', sep '|');

DROP TABLE IF EXISTS tpcdi_raw.account_txt;

CREATE TABLE tpcdi_raw.account_txt (
    cdc_flag STRING, cdc_dsn BIGINT, ca_id BIGINT, ca_b_id BIGINT, ca_c_id BIGINT, ca_name STRING, ca_tax_st INT,
    ca_st_id STRING
) USING CSV OPTIONS (path '${files}', recursiveFileLookup 'true', pathGlobFilter 'Account.txt', sep '|');

DROP TABLE IF EXISTS tpcdi_raw.batch_date;

CREATE TABLE tpcdi_raw.batch_date (day DATE)
USING CSV OPTIONS (path '${files}', recursiveFileLookup 'true', pathGlobFilter 'BatchDate.txt');

DROP TABLE IF EXISTS tpcdi_raw.hr;

CREATE TABLE tpcdi_raw.hr (
    employee_id BIGINT, manager_id BIGINT, first_name STRING, last_name STRING, middle_initial STRING, job_code STRING,
    branch STRING, office STRING, phone STRING
) USING CSV OPTIONS (path '${files}', recursiveFileLookup 'true', pathGlobFilter 'HR.csv');

DROP TABLE IF EXISTS tpcdi_raw.finwire;

CREATE TABLE tpcdi_raw.finwire (value STRING)
USING TEXT OPTIONS (path '${files}', recursiveFileLookup 'true', pathGlobFilter 'FINWIRE*');

-- The first batch brings what all of them look up.

DROP TABLE IF EXISTS tpcdi_raw.tax_rate;

CREATE TABLE tpcdi_raw.tax_rate (tx_id STRING, tx_name STRING, tx_rate DECIMAL(6, 5))
USING CSV OPTIONS (path '${first}', recursiveFileLookup 'true', pathGlobFilter 'TaxRate.txt', sep '|');

DROP TABLE IF EXISTS tpcdi_raw.industry;

CREATE TABLE tpcdi_raw.industry (in_id STRING, in_name STRING, in_sc_id STRING)
USING CSV OPTIONS (path '${first}', recursiveFileLookup 'true', pathGlobFilter 'Industry.txt', sep '|');

DROP TABLE IF EXISTS tpcdi_raw.status_type;

CREATE TABLE tpcdi_raw.status_type (st_id STRING, st_name STRING)
USING CSV OPTIONS (path '${first}', recursiveFileLookup 'true', pathGlobFilter 'StatusType.txt', sep '|');

-- An action with the elements that it gives; the others are NULL.

CREATE OR REPLACE VIEW tpcdi_raw.actions AS
SELECT
    _ActionType AS action,
    _ActionTS AS at,
    to_date(_ActionTS) AS day,
    Customer.*,
    Customer.Name.*,
    Customer.Address.*,
    Customer.ContactInfo.*,
    Customer.TaxInfo.*,
    Customer.Account.*
FROM tpcdi_raw.customer_mgmt;

-- `sets` has the names of the columns that an action gives, because to_json leaves out what is NULL. NEW gives all.

CREATE OR REPLACE VIEW tpcdi_raw.customer_actions AS
SELECT
    customer_id,
    at,
    day,
    given.*,
    IF(action = 'NEW', NULL, json_object_keys(to_json(given))) AS sets
FROM (
    SELECT
        action,
        _C_ID AS customer_id,
        at,
        day,
        STRUCT(
            _C_TAX_ID AS tax_id,
            CASE action WHEN 'NEW' THEN 'Active' WHEN 'INACT' THEN 'Inactive' END AS status,
            C_L_NAME AS last_name,
            C_F_NAME AS first_name,
            C_M_NAME AS middle_initial,
            CASE
                WHEN upper(_C_GNDR) IN ('M', 'F') THEN upper(_C_GNDR)
                WHEN _C_GNDR IS NOT NULL OR action = 'NEW' THEN 'U'
            END AS gender,
            _C_TIER AS tier,
            _C_DOB AS dob,
            C_ADLINE1 AS address_line1,
            C_ADLINE2 AS address_line2,
            C_ZIPCODE AS postal_code,
            C_CITY AS city,
            C_STATE_PROV AS state_prov,
            C_CTRY AS country,
            concat(
                coalesce(concat('+', C_PHONE_1.C_CTRY_CODE, ' (', C_PHONE_1.C_AREA_CODE, ') '),
                    concat('(', C_PHONE_1.C_AREA_CODE, ') '), ''), C_PHONE_1.C_LOCAL, coalesce(C_PHONE_1.C_EXT, '')
            ) AS phone1,
            concat(
                coalesce(concat('+', C_PHONE_2.C_CTRY_CODE, ' (', C_PHONE_2.C_AREA_CODE, ') '),
                    concat('(', C_PHONE_2.C_AREA_CODE, ') '), ''), C_PHONE_2.C_LOCAL, coalesce(C_PHONE_2.C_EXT, '')
            ) AS phone2,
            concat(
                coalesce(concat('+', C_PHONE_3.C_CTRY_CODE, ' (', C_PHONE_3.C_AREA_CODE, ') '),
                    concat('(', C_PHONE_3.C_AREA_CODE, ') '), ''), C_PHONE_3.C_LOCAL, coalesce(C_PHONE_3.C_EXT, '')
            ) AS phone3,
            C_PRIM_EMAIL AS email1,
            C_ALT_EMAIL AS email2,
            nat.tx_name AS national_tax_rate_desc,
            nat.tx_rate AS national_tax_rate,
            lcl.tx_name AS local_tax_rate_desc,
            lcl.tx_rate AS local_tax_rate,
            1 AS batch_id
        ) AS given
    FROM tpcdi_raw.actions
    LEFT JOIN tpcdi_raw.tax_rate AS nat ON C_NAT_TX_ID = nat.tx_id
    LEFT JOIN tpcdi_raw.tax_rate AS lcl ON C_LCL_TX_ID = lcl.tx_id
    WHERE action IN ('NEW', 'UPDCUST', 'INACT')
);

CREATE OR REPLACE VIEW tpcdi_raw.account_actions AS
SELECT
    account_id,
    at,
    day,
    given.*,
    IF(action IN ('NEW', 'ADDACCT'), NULL, json_object_keys(to_json(given))) AS sets
FROM (
    SELECT
        action,
        _CA_ID AS account_id,
        at,
        day,
        STRUCT(
            CA_B_ID AS broker_id,
            _C_ID AS customer_id,
            CASE WHEN action IN ('NEW', 'ADDACCT') THEN 'Active' WHEN action = 'CLOSEACCT' THEN 'Inactive' END AS status,
            CA_NAME AS account_desc,
            _CA_TAX_ST AS tax_status,
            1 AS batch_id
        ) AS given
    FROM tpcdi_raw.actions
    WHERE _CA_ID IS NOT NULL
);

-- The two days: full rows, each of the day of its batch.

CREATE OR REPLACE VIEW tpcdi_raw.customer_rows AS
SELECT
    c_id AS customer_id,
    cdc_dsn,
    day,
    c_tax_id AS tax_id,
    st_name AS status,
    c_l_name AS last_name,
    c_f_name AS first_name,
    c_m_name AS middle_initial,
    IF(upper(c_gndr) IN ('M', 'F'), upper(c_gndr), 'U') AS gender,
    c_tier AS tier,
    c_dob AS dob,
    c_adline1 AS address_line1,
    c_adline2 AS address_line2,
    c_zipcode AS postal_code,
    c_city AS city,
    c_state_prov AS state_prov,
    c_ctry AS country,
    concat(
        coalesce(concat('+', c_ctry_1, ' (', c_area_1, ') '), concat('(', c_area_1, ') '), ''), c_local_1,
        coalesce(c_ext_1, '')
    ) AS phone1,
    concat(
        coalesce(concat('+', c_ctry_2, ' (', c_area_2, ') '), concat('(', c_area_2, ') '), ''), c_local_2,
        coalesce(c_ext_2, '')
    ) AS phone2,
    concat(
        coalesce(concat('+', c_ctry_3, ' (', c_area_3, ') '), concat('(', c_area_3, ') '), ''), c_local_3,
        coalesce(c_ext_3, '')
    ) AS phone3,
    c_email_1 AS email1,
    c_email_2 AS email2,
    nat.tx_name AS national_tax_rate_desc,
    nat.tx_rate AS national_tax_rate,
    lcl.tx_name AS local_tax_rate_desc,
    lcl.tx_rate AS local_tax_rate,
    batch_id
FROM (SELECT *, int(regexp_extract(_metadata.file_path, 'Batch([0-9]+)')) AS batch_id FROM tpcdi_raw.customer_txt)
INNER JOIN (SELECT *, int(regexp_extract(_metadata.file_path, 'Batch([0-9]+)')) AS batch_id FROM tpcdi_raw.batch_date)
    USING (batch_id)
LEFT JOIN tpcdi_raw.status_type ON c_st_id = st_id
LEFT JOIN tpcdi_raw.tax_rate AS nat ON c_nat_tx_id = nat.tx_id
LEFT JOIN tpcdi_raw.tax_rate AS lcl ON c_lcl_tx_id = lcl.tx_id;

CREATE OR REPLACE VIEW tpcdi_raw.account_rows AS
SELECT
    ca_id AS account_id,
    cdc_dsn,
    day,
    ca_b_id AS broker_id,
    ca_c_id AS customer_id,
    st_name AS status,
    ca_name AS account_desc,
    ca_tax_st AS tax_status,
    batch_id
FROM (SELECT *, int(regexp_extract(_metadata.file_path, 'Batch([0-9]+)')) AS batch_id FROM tpcdi_raw.account_txt)
INNER JOIN (SELECT *, int(regexp_extract(_metadata.file_path, 'Batch([0-9]+)')) AS batch_id FROM tpcdi_raw.batch_date)
    USING (batch_id)
LEFT JOIN tpcdi_raw.status_type ON ca_st_id = st_id;

-- FINWIRE: the place in the line says which field it is. A company is named by its number or by its name.

CREATE OR REPLACE VIEW tpcdi_raw.finwire_cmp AS
SELECT
    pts,
    day,
    bigint(substring(value, 79, 10)) AS company_id,
    st_name AS status,
    rtrim(substring(value, 19, 60)) AS name,
    in_name AS industry,
    IF(valid, rating, NULL) AS sp_rating,
    IF(valid, NOT (rating LIKE 'A%' OR rating LIKE 'BBB%'), NULL) AS is_low_grade,
    nullif(rtrim(substring(value, 348, 46)), '') AS ceo,
    nullif(rtrim(substring(value, 107, 80)), '') AS address_line1,
    nullif(rtrim(substring(value, 187, 80)), '') AS address_line2,
    nullif(rtrim(substring(value, 267, 12)), '') AS postal_code,
    nullif(rtrim(substring(value, 279, 25)), '') AS city,
    nullif(rtrim(substring(value, 304, 20)), '') AS state_prov,
    nullif(rtrim(substring(value, 324, 24)), '') AS country,
    nullif(rtrim(substring(value, 394, 150)), '') AS description,
    to_date(nullif(rtrim(substring(value, 99, 8)), ''), 'yyyyMMdd') AS founding_date
FROM (
    SELECT
        *,
        substring(value, 1, 15) AS pts,
        to_date(substring(value, 1, 8), 'yyyyMMdd') AS day,
        rtrim(substring(value, 95, 4)) AS rating,
        rtrim(substring(value, 95, 4)) RLIKE '^(AAA|(AA|A|BBB|BB|B|CCC)[+-]?|CC|C|D)$' AS valid
    FROM tpcdi_raw.finwire
    WHERE substring(value, 16, 3) = 'CMP'
)
LEFT JOIN tpcdi_raw.status_type ON substring(value, 89, 4) = st_id
LEFT JOIN tpcdi_raw.industry ON substring(value, 93, 2) = in_id;

CREATE OR REPLACE VIEW tpcdi_raw.finwire_sec AS
SELECT
    substring(value, 1, 15) AS pts,
    to_date(substring(value, 1, 8), 'yyyyMMdd') AS day,
    rtrim(substring(value, 19, 15)) AS symbol,
    rtrim(substring(value, 34, 6)) AS issue,
    st_name AS status,
    rtrim(substring(value, 44, 70)) AS name,
    rtrim(substring(value, 114, 6)) AS exchange_id,
    bigint(rtrim(substring(value, 120, 13))) AS shares_outstanding,
    to_date(substring(value, 133, 8), 'yyyyMMdd') AS first_trade,
    to_date(substring(value, 141, 8), 'yyyyMMdd') AS first_trade_on_exchange,
    rtrim(substring(value, 149, 12)) AS dividend,
    try_cast(rtrim(substring(value, 161)) AS BIGINT) AS company_number,
    rtrim(substring(value, 161)) AS company_name
FROM tpcdi_raw.finwire
LEFT JOIN tpcdi_raw.status_type ON substring(value, 40, 4) = st_id
WHERE substring(value, 16, 3) = 'SEC';

CREATE OR REPLACE VIEW tpcdi_raw.finwire_fin AS
SELECT
    substring(value, 1, 15) AS pts,
    to_date(substring(value, 1, 8), 'yyyyMMdd') AS day,
    int(substring(value, 19, 4)) AS fi_year,
    int(substring(value, 23, 1)) AS fi_qtr,
    to_date(substring(value, 24, 8), 'yyyyMMdd') AS fi_qtr_start_date,
    rtrim(substring(value, 40, 17)) AS fi_revenue,
    rtrim(substring(value, 57, 17)) AS fi_net_earn,
    rtrim(substring(value, 74, 12)) AS fi_basic_eps,
    rtrim(substring(value, 86, 12)) AS fi_dilut_eps,
    rtrim(substring(value, 98, 12)) AS fi_margin,
    rtrim(substring(value, 110, 17)) AS fi_inventory,
    rtrim(substring(value, 127, 17)) AS fi_assets,
    rtrim(substring(value, 144, 17)) AS fi_liability,
    rtrim(substring(value, 161, 13)) AS fi_out_basic,
    rtrim(substring(value, 174, 13)) AS fi_out_dilut,
    try_cast(rtrim(substring(value, 187)) AS BIGINT) AS company_number,
    rtrim(substring(value, 187)) AS company_name
FROM tpcdi_raw.finwire
WHERE substring(value, 16, 3) = 'FIN';
