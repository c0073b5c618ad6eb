WITH source AS (SELECT c.region, c.customer_no, c.full_name, c.street, c.birth_date, c.changed_on, c.change_no
FROM staging.customer AS c
WHERE c.customer_no IS NOT NULL),
incoming AS (
    SELECT
        CAST(region AS STRING) AS region,
        CAST(customer_no AS STRING) AS customer_no,
        CAST(full_name AS STRING) AS name,
        CAST(street AS STRING) AS address,
        CAST(birth_date AS DATE) AS birth_date,
        CAST(changed_on AS DATE) AS _scd_at,
        change_no AS _scd_sequence_1
    FROM source
)
SELECT * FROM incoming