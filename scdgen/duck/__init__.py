"""Run the generated SQL on DuckDB, for tests: translation, what may be translated, a database, the order of a run."""
