-- web.user_mapping: Which user a visitor's cookie belonged to, and when
-- Creates the table if it does not exist.
-- Generated from specs/visitor/user_mapping.yml. To change it, edit the spec and run `scdgen generate`.

-- A session with other times stops here: what is created below would keep them.
SELECT CASE
    WHEN TYPEOF(CAST(NULL AS TIMESTAMP)) <> 'timestamp'
        THEN RAISE_ERROR('[SCDGEN_SETTINGS] web.user_mapping: needs TIMESTAMP_LTZ')
END;

CREATE SCHEMA IF NOT EXISTS web;

CREATE TABLE IF NOT EXISTS web.user_mapping (
    visitor_cookie_id STRING NOT NULL,
    user_id BIGINT,
    vcid_first_two STRING,
    valid_start_date TIMESTAMP NOT NULL COMMENT 'Start of the version, inclusive',
    valid_end_date TIMESTAMP COMMENT '1 microsecond before the next version or delete',
    is_current BOOLEAN NOT NULL COMMENT 'Whether the version is the open one'
)
USING DELTA
PARTITIONED BY (vcid_first_two)
COMMENT 'Which user a visitor\'s cookie belonged to, and when'
TBLPROPERTIES (
    'delta.enableDeletionVectors' = 'true',
    'scdgen.pattern' = 'scd2',
    'scdgen.keys' = '["visitor_cookie_id"]',
    'scdgen.time_zone' = 'UTC',
    'scdgen.history' = 'timestamp, gap 1 microsecond',
    'scdgen.tracked' = '["user_id", "vcid_first_two"]',
    'scdgen.partitions' = '{"vcid_first_two": "substring(visitor_cookie_id, 1, 2)"}'
);
