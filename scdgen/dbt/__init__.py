"""Projects of dbt: their manifest, and their models with `materialized: scdgen`."""
