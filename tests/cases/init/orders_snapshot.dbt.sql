{% snapshot orders_snapshot %}
{{ config(
    target_schema='snapshots', unique_key='id', strategy='timestamp', updated_at='updated_at',
    hard_deletes='invalidate', dbt_valid_to_current="to_date('9999-12-31')", tags=['daily']
) }}
-- what the shop says now
SELECT
    CAST(id AS INT) AS id,
    status::string AS status,  -- open, paid, sent
    CAST(updated_at AS TIMESTAMP) AS updated_at
FROM {{ source('shop', 'orders') }}
{% endsnapshot %}
