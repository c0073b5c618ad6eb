"""The facts of a spec, as SQL: columns, rows, history, views. Templates read them."""
