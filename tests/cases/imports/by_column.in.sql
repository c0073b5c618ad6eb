MODEL (
  name lake.db.users,
  kind SCD_TYPE_2_BY_COLUMN (
    unique_key id,
    columns [name, UPPER(city)],
    updated_at_name day,
    execution_time_as_valid_from false,
    time_data_type DATE
  ),
  dialect bigquery,
  partitioned_by (DATE_TRUNC('month', day)),
  clustered_by (id)
);

SELECT id::INT, name::TEXT, city::TEXT, CAST(note AS STRING) AS note, CAST(day AS DATE) AS day FROM staging.users
