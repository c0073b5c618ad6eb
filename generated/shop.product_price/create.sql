-- shop.product_price: The newest price of each product (type 1)
-- Creates the table if it does not exist.
-- Generated from specs/product_price.yml. To change it, edit the spec and run `scdgen generate`.

-- A session with other times stops here: what is created below would keep them.
SELECT CASE
    WHEN TYPEOF(CAST(NULL AS TIMESTAMP)) <> 'timestamp'
        THEN RAISE_ERROR('[SCDGEN_SETTINGS] shop.product_price: needs TIMESTAMP_LTZ')
END;

CREATE SCHEMA IF NOT EXISTS shop;

CREATE TABLE IF NOT EXISTS shop.product_price (
    product_id BIGINT NOT NULL,
    name STRING,
    price DECIMAL(10, 2),
    updated_at TIMESTAMP COMMENT 'Effective time of the newest change'
)
USING DELTA
COMMENT 'The newest price of each product (type 1)'
TBLPROPERTIES (
    'delta.enableDeletionVectors' = 'true',
    'scdgen.pattern' = 'scd1',
    'scdgen.keys' = '["product_id"]',
    'scdgen.time_zone' = 'UTC'
);
