-- web.first_dates: When each visitor's cookie was seen first, with or without a user
-- Creates the table if it does not exist.
-- Generated from specs/visitor/first_dates.yml. To change it, edit the spec and run `scdgen generate`.

-- A session with other times stops here: what is created below would keep them.
SELECT CASE
    WHEN TYPEOF(CAST(NULL AS TIMESTAMP)) <> 'timestamp'
        THEN RAISE_ERROR('[SCDGEN_SETTINGS] web.first_dates: needs TIMESTAMP_LTZ')
END;

CREATE SCHEMA IF NOT EXISTS web;

CREATE TABLE IF NOT EXISTS web.first_dates (
    visitor_cookie_id STRING NOT NULL,
    first_date TIMESTAMP,
    first_day STRING,
    vcid_first_two STRING
)
USING DELTA
PARTITIONED BY (vcid_first_two)
COMMENT 'When each visitor\'s cookie was seen first, with or without a user'
TBLPROPERTIES (
    'delta.enableDeletionVectors' = 'true',
    'scdgen.pattern' = 'scd1',
    'scdgen.keys' = '["visitor_cookie_id"]',
    'scdgen.time_zone' = 'UTC',
    'scdgen.partitions' = '{"vcid_first_two": "substring(visitor_cookie_id, 1, 2)"}'
);
