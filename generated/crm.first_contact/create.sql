-- `crm`.`first_contact`: How each customer first came to us.
-- Makes the table where there is none.
-- Made from specs/first_contact.yml; do not edit: change the spec and run `scdgen generate`.

CREATE SCHEMA IF NOT EXISTS `crm`;

CREATE TABLE IF NOT EXISTS `crm`.`first_contact` (
    `customer_id` INT NOT NULL,
    `channel` STRING,
    `campaign` STRING,
    `contacted_at` TIMESTAMP
)
USING DELTA
COMMENT 'How each customer first came to us.'
TBLPROPERTIES (
    'delta.enableDeletionVectors' = 'true',
    'scdgen.pattern' = 'scd0',
    'scdgen.keys' = '["customer_id"]'
);
