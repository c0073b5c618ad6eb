"""The spec of one table: its model and rules, its file, its JSON Schema, and how specs depend on each other."""
