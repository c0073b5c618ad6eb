-- by time
MODEL (
  name db.menu_items,
  kind SCD_TYPE_2_BY_TIME (
    unique_key (id, COALESCE(region, '')),
    updated_at_name changed_at,
    valid_from_name start_at,
    valid_to_name end_at,
    updated_at_as_valid_from true,
    invalidate_hard_deletes true,
    time_data_type TIMESTAMP,
    batch_size 1,
    disable_restatement false,
    on_destructive_change 'warn'
  ),
  description 'What is on the menu',
  owner jen, cron '@daily', dialect spark, start '2024-01-01',
  audits (not_null(columns := (id))),
  partitioned_by region,
  table_format delta,
  physical_properties ('delta.logRetentionDuration' = '30 days'),
  column_descriptions (id = 'The key'),
  columns (
    id INT, region TEXT, price DECIMAL(10,2), parts ARRAY<STRUCT<Name: STRING, n: INT>>, changed_at TIMESTAMP,
    start_at TIMESTAMP, end_at TIMESTAMP
  )
);

SELECT id, region, price, parts, changed_at  /* as it is now */
FROM staging.menu
WHERE id IS NOT NULL;

ANALYZE TABLE db.menu_items COMPUTE STATISTICS;
