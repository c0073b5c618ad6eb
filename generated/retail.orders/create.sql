-- retail.orders: The facts, one row per order; guests order without a customer
-- Creates the table if it does not exist.
-- Generated from specs/sales/orders.yml. To change it, edit the spec and run `scdgen generate`.

-- A session with other times stops here: what is created below would keep them.
SELECT CASE
    WHEN TYPEOF(CAST(NULL AS TIMESTAMP)) <> 'timestamp'
        THEN RAISE_ERROR('[SCDGEN_SETTINGS] retail.orders: needs TIMESTAMP_LTZ')
END;

CREATE SCHEMA IF NOT EXISTS retail;

CREATE TABLE IF NOT EXISTS retail.orders (
    order_id INT NOT NULL,
    customer_id INT,
    ordered_at TIMESTAMP,
    amount DECIMAL(10, 2)
)
USING DELTA
COMMENT 'The facts, one row per order; guests order without a customer'
TBLPROPERTIES (
    'delta.enableDeletionVectors' = 'true',
    'scdgen.pattern' = 'scd1',
    'scdgen.keys' = '["order_id"]',
    'scdgen.time_zone' = 'UTC'
);
