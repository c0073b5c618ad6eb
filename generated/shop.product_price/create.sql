-- `shop`.`product_price`: The newest price of each product (type 1), whatever the order in which prices arrive
-- Makes the table where there is none.
-- Made from specs/product_price.yml; do not edit: change the spec and run `scdgen generate`.

CREATE SCHEMA IF NOT EXISTS `shop`;

CREATE TABLE IF NOT EXISTS `shop`.`product_price` (
    `product_id` BIGINT NOT NULL,
    `name` STRING,
    `price` DECIMAL(10, 2),
    `updated_at` TIMESTAMP COMMENT 'Effective time of the newest change'
)
USING DELTA
COMMENT 'The newest price of each product (type 1), whatever the order in which prices arrive'
TBLPROPERTIES (
    'delta.enableDeletionVectors' = 'true',
    'scdgen.pattern' = 'scd1',
    'scdgen.keys' = '["product_id"]'
);
