"""The spec of one table: its model and rules, its file, its JSON Schema, and what a change of it means."""
