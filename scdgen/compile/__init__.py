"""Compile a spec to SQL: render facts, check the result, and give the statements to files and to runs."""
