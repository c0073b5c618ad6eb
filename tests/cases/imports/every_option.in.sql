{#- every option of dbt and of its Spark adapters -#}
{%- snapshot every_option -%}
    {{
        config(
            database='main', schema='snaps', alias='dim_item', unique_key=['id', "coalesce(region, '')"],
            strategy='check', check_cols=['name', 'price'], updated_at='changed_at',
            invalidate_hard_deletes=true, dbt_valid_to_current='current_timestamp()',
            snapshot_meta_column_names={'dbt_valid_from': 'start_at', 'dbt_valid_to': 'end_at', 'dbt_scd_id': 'sk'},
            file_format='delta', partition_by='region', tblproperties={'delta.logRetentionDuration': '30 days'},
            location_root='s3://lake/snaps/', grants={'select': ['bi']}, persist_docs={'relation': true}, tags='a',
            pre_hook="{{ log('begin') }}", post_hook=['analyze'], meta={'owner': 'me'}, enabled=var('on'),
            event_time='changed_at', zorder='id', unique_tmp_table_suffix=true, group='g', docs={'show': false},
            surprise=1
        )
    }}
    SELECT * FROM {{ ref('items') }}
{%- endsnapshot -%}
